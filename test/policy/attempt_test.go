// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/test/testenv"
)

// attempt is a request that changes nothing: it is a dry run, or only reads.
type attempt func(t *testing.T, c client.Client) error

// Names of the user's Memcacheds. "cache" and "no-nodes" have children, and the other two have none. "no-nodes" has no nodes. The
// workload of "stable-nodes" and "no-nodes" is a StatefulSet.
const (
	existing = "cache"
	fresh    = "fresh"
	stable   = "stable-nodes"
	empty    = "no-nodes"
)

const agentImage = "example.com/memcached-operator-agent:v1.0.0"

// createMemcacheds creates the four Memcacheds, the children of two of them, and the MemcachedProxies.
func (i *installation) createMemcacheds(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	for name, size := range map[string]int32{existing: 3, fresh: 3, stable: 3, empty: 0} {
		mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: name}}
		mc.Spec.Size, mc.Spec.NetworkPolicy.Enabled = size, ptr.To(true)
		mc.Spec.Monitoring.Enabled = name != empty
		if name == stable || name == empty {
			mc.Spec.Workload = cachev1alpha1.WorkloadStatefulSet
		}
		g.Expect(i.admin.Create(t.Context(), mc)).To(Succeed())
	}
	for _, child := range append(childrenOf(t, i.admin, existing), childrenOf(t, i.admin, empty)...) {
		g.Expect(i.admin.Create(t.Context(), child)).To(Succeed())
	}
	i.createProxies(t)
}

// childrenOf returns the children that the operator renders for a Memcached.
func childrenOf(t *testing.T, c client.Client, name string) []client.Object {
	t.Helper()
	g := NewWithT(t)
	mc := &cachev1alpha1.Memcached{}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: shop, Name: name}, mc)).To(Succeed())
	wanted := desired.For(memcached.NewView(mc, memcached.Observed{}, time.Now()), memcached.Options{DefaultImage: "docker.io/library/memcached:1.6.45", AgentImage: agentImage})
	g.Expect(wanted.Problem).To(BeNil())
	for _, child := range wanted.Objects {
		g.Expect(controllerutil.SetControllerReference(mc, child, testenv.Scheme())).To(Succeed())
	}
	return wanted.Objects
}

// createChild returns an attempt to create a child of type T. The function change modifies the child first. The owner is the Memcached
// "fresh", or "stable-nodes" if "fresh" has no such child.
func createChild[T client.Object](change func(T)) attempt {
	return createOneOf(change, func(t *testing.T, c client.Client) []client.Object {
		t.Helper()
		return append(childrenOf(t, c, fresh), childrenOf(t, c, stable)...)
	})
}

func createOneOf[T client.Object](change func(T), children func(*testing.T, client.Client) []client.Object) attempt {
	return func(t *testing.T, c client.Client) error {
		t.Helper()
		for _, child := range children(t, c) {
			if child, ok := child.(T); ok {
				change(child)
				return c.Create(t.Context(), child, client.DryRunAll)
			}
		}
		panic("the operator renders no such child")
	}
}

// updateChild returns an attempt to update a child of the Memcached "cache". The argument child only determines the type.
func updateChild[T client.Object](child T, change func(T)) attempt {
	return updateNamed(child, existing, change)
}

func updateNamed[T client.Object](object T, name string, change func(T)) attempt {
	object.SetNamespace(shop)
	object.SetName(name)
	return update(object, change)
}

func createDeployment(change func(*appsv1.Deployment)) attempt { return createChild(change) }

func updateDeployment(change func(*appsv1.Deployment)) attempt {
	return updateChild(&appsv1.Deployment{}, change)
}

func createStatefulSet(change func(*appsv1.StatefulSet)) attempt { return createChild(change) }

func createService(change func(*corev1.Service)) attempt { return createChild(change) }

func updateService(change func(*corev1.Service)) attempt {
	return updateChild(&corev1.Service{}, change)
}

func createBudget(change func(*policyv1.PodDisruptionBudget)) attempt { return createChild(change) }

func updateBudget(change func(*policyv1.PodDisruptionBudget)) attempt {
	return updateChild(&policyv1.PodDisruptionBudget{}, change)
}

func createPolicy(change func(*networkingv1.NetworkPolicy)) attempt { return createChild(change) }

func createConfigMap(change func(*corev1.ConfigMap)) attempt {
	return func(t *testing.T, c client.Client) error {
		t.Helper()
		servers := serversOf(t, c, stable)
		change(servers)
		return c.Create(t.Context(), servers, client.DryRunAll)
	}
}

// serversOf returns the ConfigMap in which the operator lists the servers of a Memcached.
func serversOf(t *testing.T, c client.Client, name string) *corev1.ConfigMap {
	t.Helper()
	for _, child := range childrenOf(t, c, name) {
		if servers, ok := child.(*corev1.ConfigMap); ok && servers.Name == name+"-servers" {
			return servers
		}
	}
	panic("the operator renders no such child")
}

func updateConfigMap(change func(*corev1.ConfigMap)) attempt {
	return update(&corev1.ConfigMap{ObjectMeta: named(empty + "-servers")}, change)
}

func setData(key, value string) func(*corev1.ConfigMap) {
	return func(c *corev1.ConfigMap) { c.Data[key] = value }
}

func create(object client.Object) attempt {
	return func(t *testing.T, c client.Client) error {
		t.Helper()
		return c.Create(t.Context(), object.DeepCopyObject().(client.Object), client.DryRunAll)
	}
}

func update[T client.Object](object T, change func(T)) attempt {
	return func(t *testing.T, c client.Client) error {
		t.Helper()
		object := object.DeepCopyObject().(T)
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change(object)
		return c.Update(t.Context(), object, client.DryRunAll)
	}
}

func remove(object client.Object) attempt {
	return func(t *testing.T, c client.Client) error {
		t.Helper()
		return c.Delete(t.Context(), object.DeepCopyObject().(client.Object), client.DryRunAll)
	}
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: shop, Name: name} }

func subresource(name string, object, body client.Object) attempt {
	return func(t *testing.T, c client.Client) error {
		t.Helper()
		return c.SubResource(name).Create(t.Context(), object, body.DeepCopyObject().(client.Object), client.DryRunAll)
	}
}
