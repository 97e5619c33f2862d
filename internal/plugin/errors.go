// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcache"
)

// unknown returns the error for a Memcached that does not exist. The error names the Memcacheds of the namespace. If the name
// belongs to a MemcachedProxy, the error names its pools instead.
func (c *cluster) unknown(ctx context.Context, name string) error {
	const elsewhere = "--namespace selects another one, and kubectl memcached status --all-namespaces lists them all"
	var proxy cachev1alpha1.MemcachedProxy
	if c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, &proxy) == nil {
		return fmt.Errorf("%s is a MemcachedProxy: name the Memcached to which it leads, %s", name, strings.Join(poolsOf(&proxy), ", "))
	}
	others, err := c.memcacheds(ctx, false)
	if err != nil {
		return fmt.Errorf("the namespace %s has no Memcached %s", c.namespace, name)
	}
	if len(others) == 0 {
		return fmt.Errorf("the namespace %s has no Memcached: %s", c.namespace, elsewhere)
	}
	names := make([]string, len(others))
	for i := range others {
		names[i] = others[i].Name
	}
	return fmt.Errorf("the namespace %s has no Memcached %s, but %s: %s", c.namespace, name, strings.Join(names, ", "), elsewhere)
}

// explain returns the text of an error, or for some known causes another text with a remedy.
func explain(err error) string {
	switch {
	case apimeta.IsNoMatchError(err):
		return "the cluster has no resource memcacheds.cache.example.com: install the operator, or select another cluster " +
			"with --context"
	case clientcmd.IsEmptyConfig(err):
		return "no cluster is configured: set KUBECONFIG, or give --kubeconfig"
	default:
		return err.Error()
	}
}

var errAuthentication = errors.New("memcached demands a login: --user selects one")

// unreachable says in a few words why a node has not answered.
func unreachable(err error) string {
	var refusal *memcache.RefusalError
	var denied *deniedError
	text := err.Error()
	switch {
	case errors.Is(err, errAuthentication):
		return errAuthentication.Error()
	case errors.As(err, &denied):
		return denied.Error()
	case errors.Is(err, memcache.ErrConnectionLimit):
		return "all connections are taken: raise spec.config.maxConnections"
	case errors.As(err, &refusal):
		return fmt.Sprintf("memcached replies %q", refusal.Reply)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, errNoAnswer):
		return errNoAnswer.Error()
	case strings.Contains(text, "pods/portforward") && strings.Contains(text, "forbidden"):
		return "forbidden: you need the permission to create pods/portforward"
	case strings.Contains(text, "connection refused"):
		return "nothing listens on its port"
	case strings.Contains(text, "error forwarding port"):
		return "the kubelet cannot connect to it: the pod starts or ends"
	case errors.Is(err, io.EOF):
		return "the connection was closed"
	default:
		return text
	}
}

// refused replaces the error for a missing login by errAuthentication, which is easier to understand.
func refused(err error) error {
	if errors.Is(err, memcache.ErrUnauthenticated) {
		return errAuthentication
	}
	return err
}
