// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// cluster is the cluster that the user has chosen, with the permissions of the user.
type cluster struct {
	client.Client

	// namespace is the value of --namespace, or the namespace in the kubeconfig.
	namespace string
	// login is the login to memcached, nil for none.
	login *login
	// dial connects to a port of a pod.
	dial dialFunc
	// logs reads the log of a container.
	logs func(ctx context.Context, pod *corev1.Pod, options *corev1.PodLogOptions) (io.ReadCloser, error)
	// serverVersion returns the version of Kubernetes.
	serverVersion func() (string, error)
}

// Limits of requests to the API server, for example for the log of each container. Connections to pods do not count.
const requestsPerSecond, requestBurst = 50, 300

// connect finds the cluster as kubectl does, by flags and kubeconfig.
func connect(s *session) (*cluster, error) {
	config, err := s.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = requestsPerSecond, requestBurst
	config.WarningHandler = rest.NewWarningWriter(s.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	namespace, _, err := s.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	mapper, err := s.flags.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	reader, err := client.New(config, client.Options{Scheme: newScheme(), Mapper: mapper})
	if err != nil {
		return nil, err
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &cluster{
		Client:    reader,
		namespace: namespace,
		dial:      forwarding(config, clientset),
		logs: func(ctx context.Context, pod *corev1.Pod, options *corev1.PodLogOptions) (io.ReadCloser, error) {
			return clientset.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).Stream(ctx)
		},
		serverVersion: func() (string, error) {
			version, err := clientset.Discovery().ServerVersion()
			if err != nil {
				return "", err
			}
			return version.GitVersion, nil
		},
	}, nil
}

// open connects to the cluster, and reads the Memcached with this name. With --user, it also finds the login.
func (s *session) open(ctx context.Context, name string) (*cluster, *cachev1alpha1.Memcached, error) {
	c, err := s.connect(s)
	if err != nil {
		return nil, nil, err
	}
	mc, err := c.memcached(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	c.login, err = s.loginFor(ctx, c, mc)
	return c, mc, err
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(cachev1alpha1.AddToScheme(scheme))
	return scheme
}

// memcached reads a Memcached. If it does not exist, the error names the existing ones.
func (c *cluster) memcached(ctx context.Context, name string) (*cachev1alpha1.Memcached, error) {
	var mc cachev1alpha1.Memcached
	err := c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, &mc)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err != nil {
		return nil, c.unknown(ctx, name)
	}
	return &mc, nil
}

// memcacheds reads the Memcacheds of the namespace, or of all namespaces.
func (c *cluster) memcacheds(ctx context.Context, everywhere bool) ([]cachev1alpha1.Memcached, error) {
	var list cachev1alpha1.MemcachedList
	if err := c.List(ctx, &list, c.within(everywhere)); err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b cachev1alpha1.Memcached) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), naturally(a.Name, b.Name))
	})
	return list.Items, nil
}

// within returns an option that limits a list to the namespace. If everywhere is true, the option has no effect.
func (c *cluster) within(everywhere bool) client.InNamespace {
	if everywhere {
		return ""
	}
	return client.InNamespace(c.namespace)
}

// pods reads all pods of a Memcached, including terminating and failed ones. It sorts the pods of a StatefulSet by number. It sorts the
// pods of a Deployment by name, as kubectl does.
func (c *cluster) pods(ctx context.Context, mc *cachev1alpha1.Memcached) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := c.List(ctx, &list, client.InNamespace(mc.Namespace), client.MatchingLabels(memcached.SelectorLabels(mc)))
	if err != nil {
		return nil, err
	}
	order := cmp.Compare[string]
	if mc.Spec.Workload == cachev1alpha1.WorkloadStatefulSet {
		order = naturally
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return order(a.Name, b.Name) })
	return list.Items, nil
}
