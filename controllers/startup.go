// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// How often and how long the operator looks for the CRD of Memcacheds. The operator must start to listen within a minute, or the
// kubelet restarts it.
const (
	crdInterval = time.Second
	crdTimeout  = 45 * time.Second
)

// AwaitCRD waits until the API server serves Memcacheds. That takes some seconds if the CRD and the operator were created together.
func AwaitCRD(ctx context.Context, mapper meta.RESTMapper) error {
	kind, told := cachev1alpha1.GroupVersion.WithKind("Memcached"), false
	err := wait.PollUntilContextTimeout(ctx, crdInterval, crdTimeout, true, func(context.Context) (bool, error) {
		_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if !meta.IsNoMatchError(err) {
			return true, err
		}
		if !told {
			ctrl.Log.Info("Waiting until the API server serves the CRD memcacheds." + kind.Group)
			told = true
		}
		return false, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("the API server does not serve %s: install the CRD memcacheds.%s of this version", kind, kind.Group)
	}
	return err
}

// splitNamespaces splits a list at commas, and drops spaces and empty names.
func splitNamespaces(list string) []string {
	var namespaces []string
	for namespace := range strings.SplitSeq(list, ",") {
		if namespace = strings.TrimSpace(namespace); namespace != "" {
			namespaces = append(namespaces, namespace)
		}
	}
	return namespaces
}

// ReadableNamespaces splits the value of WATCH_NAMESPACE into namespaces that the operator may read, and refused ones. The operator
// starts to work only when it has listed all namespaces that it serves, so one refused namespace among them would stop it.
//
// If the operator may read none of several namespaces, all of them are in both results. The operator then waits until it may read one of
// them, and starts again to serve that one: see AwaitNamespaces. If there is only one namespace, it counts as readable, and the operator
// waits for its permissions.
func ReadableNamespaces(ctx context.Context, reader client.Reader, list string) (readable, refused []string) {
	for _, namespace := range splitNamespaces(list) {
		if err := readNamespace(ctx, reader, namespace); apierrors.IsForbidden(err) {
			ctrl.Log.Info("Not serving a namespace that cannot be read: remove it from WATCH_NAMESPACE, or restore its permissions",
				"namespace", namespace, "error", err.Error())
			refused = append(refused, namespace)
		} else {
			readable = append(readable, namespace)
		}
	}
	switch {
	case len(readable) > 0:
		return readable, refused
	case len(refused) > 1:
		return refused, refused
	default:
		return refused, nil
	}
}

func readNamespace(ctx context.Context, reader client.Reader, namespace string) error {
	return reader.List(ctx, &cachev1alpha1.MemcachedList{}, client.InNamespace(namespace), client.Limit(1))
}

// refusedInterval is how often the operator tries again to read a refused namespace.
const refusedInterval = 10 * time.Second

// AwaitNamespaces returns an error as soon as the operator can read one of the refused namespaces. No namespace can be added to a running
// cache. So the process must end, and the next process serves that namespace. AwaitNamespaces returns nil when the context ends.
func AwaitNamespaces(ctx context.Context, reader client.Reader, refused []string) error {
	if len(refused) == 0 {
		<-ctx.Done()
		return nil
	}
	var readable string
	err := wait.PollUntilContextCancel(ctx, refusedInterval, false, func(ctx context.Context) (bool, error) {
		i := slices.IndexFunc(refused, func(name string) bool { return readNamespace(ctx, reader, name) == nil })
		if i >= 0 {
			readable = refused[i]
		}
		return i >= 0, nil
	})
	if err != nil {
		return nil //nolint:nilerr // the process is told to end
	}
	return fmt.Errorf("the namespace %s can be read now: start again to serve it", readable)
}
