// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/internal/memcached"
)

// loginDemanded is the problem of a node with users, which answers nobody else.
const loginDemanded = "memcached demands a login: --user selects one"

// errNoAnswer means that a node has not answered in time.
var errNoAnswer = errors.New("no answer in time")

// question sends requests to a node and reads the replies.
type question func(ctx context.Context, conn *memcache.Conn) error

// askEach asks the pods of a Memcached in parallel: ask(i) is the question for pods[i]. The result has an error or nil for each pod.
func (s *session) askEach(
	ctx context.Context, c *cluster, mc *cachev1alpha1.Memcached, pods []corev1.Pod, ask func(i int) question,
) []error {
	failures := make([]error, len(pods))
	password, err := s.password(ctx, c, mc)
	var asking sync.WaitGroup
	for i := range pods {
		if failures[i] = err; err == nil {
			asking.Go(func() { failures[i] = s.ask(ctx, c, &pods[i], password, ask(i)) })
		}
	}
	asking.Wait()
	return failures
}

// ask connects to the memcached of a pod, logs in if necessary, and asks the question.
func (s *session) ask(ctx context.Context, c *cluster, pod *corev1.Pod, password string, ask question) error {
	if !runs(pod) {
		return errors.New("memcached does not run: " + stateOf(pod))
	}
	s.slots <- struct{}{}
	defer func() { <-s.slots }()
	ctx, cancel := context.WithTimeoutCause(ctx, s.nodeTimeout, errNoAnswer)
	defer cancel()
	raw, err := c.dial(ctx, pod, memcached.Port) // without TLS, at least inside the pod
	if err != nil {
		return err
	}
	conn := memcache.NewConn(raw, pod.Name)
	defer func() { _ = conn.Close() }() // an error does not matter, because nothing more is sent or read
	if err := s.logIn(ctx, conn, password); err != nil {
		return err
	}
	return ask(ctx, conn)
}

// password returns the password of the user that --user selects, or "" without --user or spec.auth.
func (s *session) password(ctx context.Context, c *cluster, mc *cachev1alpha1.Memcached) (string, error) {
	if s.user == "" || mc.Spec.Auth == nil {
		return "", nil
	}
	var secret corev1.Secret
	if err := c.Get(ctx, client.ObjectKey{Namespace: mc.Namespace, Name: mc.Spec.Auth.SecretName}, &secret); err != nil {
		return "", err
	}
	if string(secret.Data[corev1.BasicAuthUsernameKey]) == s.user && len(secret.Data) == 2 { // as the agent reads such a Secret
		return string(secret.Data[corev1.BasicAuthPasswordKey]), nil
	}
	password, found := secret.Data[s.user]
	if !found {
		return "", fmt.Errorf("the Secret %s has no user %s", secret.Name, s.user)
	}
	return string(password), nil
}

// logIn logs in if memcached demands it. A memcached without users would store the password as a value.
func (s *session) logIn(ctx context.Context, conn *memcache.Conn, password string) error {
	if s.user == "" {
		return nil
	}
	demanded, err := conn.DemandsLogin(ctx)
	if err != nil || !demanded {
		return err
	}
	accepted, err := conn.LogIn(ctx, s.user, password)
	if err == nil && !accepted {
		err = fmt.Errorf("memcached refuses the user %s with this password: it may not have read the Secret yet", s.user)
	}
	return err
}

// nodesFailed joins the errors of the nodes that have not answered.
func nodesFailed(pods []corev1.Pod, failures []error) error {
	var failed []error
	for i, failure := range failures {
		if failure != nil {
			failed = append(failed, fmt.Errorf("%s: %s", pods[i].Name, unreachable(failure)))
		}
	}
	return errors.Join(failed...)
}

// unreachable says in a few words why a node has not answered.
func unreachable(err error) string {
	var refusal *memcache.RefusalError
	text := err.Error()
	switch {
	case errors.Is(err, memcache.ErrUnauthenticated):
		return loginDemanded
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
	default:
		return text
	}
}
