// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// cluster is the cluster that the user has chosen, with the permissions of the user.
type cluster struct {
	client.Client

	// namespace is the value of --namespace, or the namespace in the kubeconfig.
	namespace string
	// dial connects to a port of a pod.
	dial dialFunc
}

// connect finds the cluster as kubectl does, by flags and kubeconfig.
func connect(s *session) (*cluster, error) {
	config, err := s.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 50, 300 // status sends two requests for each cache
	namespace, _, err := s.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	reader, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		return nil, err
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &cluster{Client: reader, namespace: namespace, dial: forwarding(config, clientset)}, nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(cachev1alpha1.AddToScheme(scheme))
	return scheme
}

// open connects to the cluster, and reads the Memcached with this name.
func (s *session) open(ctx context.Context, name string) (*cluster, *cachev1alpha1.Memcached, error) {
	c, err := s.connect(s)
	if err != nil {
		return nil, nil, err
	}
	var mc cachev1alpha1.Memcached
	err = c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, &mc)
	return c, &mc, err
}

// memcacheds reads the Memcacheds of the namespace.
func (c *cluster) memcacheds(ctx context.Context) ([]cachev1alpha1.Memcached, error) {
	var list cachev1alpha1.MemcachedList
	err := c.List(ctx, &list, client.InNamespace(c.namespace))
	return list.Items, err
}

// pods reads the pods of a Memcached, without those that will never run again, for example after an eviction: Kubernetes keeps them for
// days. It sorts the pods of a StatefulSet by number, so that those of several copies with the same items stand side by side.
func (c *cluster) pods(ctx context.Context, mc *cachev1alpha1.Memcached) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := c.List(ctx, &list, client.InNamespace(mc.Namespace), client.MatchingLabels(memcached.SelectorLabels(mc)))
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int {
		if mc.Spec.Workload == cachev1alpha1.WorkloadStatefulSet {
			numberA, _ := memcached.Ordinal(&a)
			numberB, _ := memcached.Ordinal(&b)
			return cmp.Or(cmp.Compare(numberA, numberB), cmp.Compare(a.Name, b.Name))
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	}), err
}

// podsOf reads the pods of a Memcached that are not terminating or, if node is not empty, only the pod of this name. It returns an error
// if there is none.
func (c *cluster) podsOf(ctx context.Context, mc *cachev1alpha1.Memcached, node string) ([]corev1.Pod, error) {
	pods, err := c.pods(ctx, mc)
	if err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool {
		return pod.Name != node && (node != "" || pod.DeletionTimestamp != nil)
	})
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%s/%s has no node %s", mc.Namespace, mc.Name, node)
	}
	return chosen, nil
}

const stateReady = "Ready"

// stateOf returns the state of a pod in one word, or the reason why its memcached does not run.
func stateOf(pod *corev1.Pod) string {
	switch {
	case pod.DeletionTimestamp != nil:
		return "Terminating"
	case memcached.PodReady(pod):
		return stateReady
	}
	for _, container := range memcached.ContainerStatuses(pod) {
		if waiting := container.State.Waiting; waiting != nil && waiting.Reason != "" {
			return waiting.Reason
		}
	}
	if pod.Status.Phase == corev1.PodRunning {
		return "NotReady"
	}
	return cmp.Or(string(pod.Status.Phase), string(corev1.PodPending))
}

// runs reports whether the memcached container of a pod runs.
func runs(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(status corev1.ContainerStatus) bool {
		return status.Name == memcached.ContainerName && status.State.Running != nil
	})
}
