// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// moving simulates a cluster with both workloads, whose controllers act at any time.
type moving struct {
	t         *testing.T
	mc        *cachev1alpha1.Memcached
	random    *rand.Rand
	workloads map[cachev1alpha1.WorkloadKind]client.Object
	// ready says for each node of each workload whether it is ready. cached is an earlier copy of ready, which the operator reads.
	ready, cached map[cachev1alpha1.WorkloadKind][]bool
	log           []string
}

func newMoving(t *testing.T, seed uint64, mc *cachev1alpha1.Memcached) *moving {
	m := &moving{
		t: t, mc: mc, random: rand.New(rand.NewPCG(seed, 0)),
		workloads: map[cachev1alpha1.WorkloadKind]client.Object{},
		ready:     map[cachev1alpha1.WorkloadKind][]bool{}, cached: map[cachev1alpha1.WorkloadKind][]bool{},
	}
	m.reconcile()
	for kind := range m.workloads {
		for !m.act(kind) {
			continue
		}
		m.report(kind)
		m.deliver(kind)
	}
	return m
}

func (m *moving) observed() memcached.Observed {
	var observed memcached.Observed
	for kind, object := range m.workloads {
		observed.Children = append(observed.Children, object)
		for i, ready := range m.cached[kind] {
			owner := memcachedtest.Controller("StatefulSet", m.mc.Name, "set")
			labels := map[string]string{}
			if kind == deploymentKind {
				labels[appsv1.DefaultDeploymentUniqueLabelKey] = "5d4f"
				owner = memcachedtest.Controller("ReplicaSet", m.mc.Name+"-5d4f", "set")
			}
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s-%s-%d", m.mc.Name, kind, i), Labels: labels, OwnerReferences: []metav1.OwnerReference{owner},
			}}
			if ready {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			}
			observed.Pods = append(observed.Pods, pod)
		}
	}
	return observed
}

func (m *moving) reconcile() {
	m.t.Helper()
	wanted := For(memcachedtest.View(m.mc, m.observed()), memcachedtest.Options)
	if wanted.Problem != nil {
		m.t.Fatal(wanted.Problem)
	}
	left := map[cachev1alpha1.WorkloadKind]client.Object{}
	for _, object := range wanted.Objects {
		kind := cachev1alpha1.WorkloadKind(object.GetObjectKind().GroupVersionKind().Kind)
		size, present := sizeOf(object), m.workloads[kind]
		switch {
		case size == nil:
			continue
		case present == nil:
			object.SetUID(m.mc.UID)
			object.SetGeneration(1)
			object.SetOwnerReferences([]metav1.OwnerReference{memcachedtest.Controller("Memcached", m.mc.Name, m.mc.UID)})
			present = object
		case *sizeOf(present) != *size:
			*sizeOf(present) = *size
			present.SetGeneration(present.GetGeneration() + 1)
		}
		m.log = append(m.log, fmt.Sprintf("%s is to have %d", kind, *size))
		left[kind] = present
	}
	for kind := range m.workloads {
		if left[kind] == nil && len(m.ready[kind]) > 0 {
			m.fail("the %s is deleted with %d nodes", kind, len(m.ready[kind]))
		}
	}
	m.workloads = left
}

func sizeOf(object client.Object) *int32 {
	switch object := object.(type) {
	case *appsv1.Deployment:
		return object.Spec.Replicas
	case *appsv1.StatefulSet:
		return object.Spec.Replicas
	default:
		return nil
	}
}

// act lets the controller of a workload take one step, and reports whether there was nothing to do.
func (m *moving) act(kind cachev1alpha1.WorkloadKind) (done bool) {
	object := m.workloads[kind]
	if object == nil {
		return true
	}
	nodes, size := m.ready[kind], int(*sizeOf(object))
	starting := slices.Index(nodes, false)
	switch {
	case len(nodes) > size:
		m.ready[kind] = nodes[:size]
	case len(nodes) < size:
		m.ready[kind] = append(nodes, make([]bool, size-len(nodes))...)
	case starting >= 0:
		nodes[starting] = true
	default:
		done = true
	}
	m.log = append(m.log, fmt.Sprintf("%s has %v", kind, m.ready[kind]))
	return done
}

// report lets the controller of a workload write the status. The method act does not, so the status may be old.
func (m *moving) report(kind cachev1alpha1.WorkloadKind) {
	object, ready := m.workloads[kind], int32(0)
	if object == nil {
		return
	}
	for _, is := range m.ready[kind] {
		if is {
			ready++
		}
	}
	replicas, generation := int32(len(m.ready[kind])), object.GetGeneration()
	switch object := object.(type) {
	case *appsv1.Deployment:
		object.Status = appsv1.DeploymentStatus{
			ObservedGeneration: generation, Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: ready, AvailableReplicas: ready,
		}
	case *appsv1.StatefulSet:
		object.Status = appsv1.StatefulSetStatus{
			ObservedGeneration: generation, Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: ready, AvailableReplicas: ready,
		}
	}
	m.log = append(m.log, fmt.Sprintf("%s reports %d, %d ready, of generation %d", kind, replicas, ready, generation))
}

// deliver brings the operator's cache of a workload's pods up to date.
func (m *moving) deliver(kind cachev1alpha1.WorkloadKind) {
	m.cached[kind] = slices.Clone(m.ready[kind])
}

func (m *moving) fail(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(m.log, "\n"))
}

// run lets the operator and the controllers act in random order until nothing remains to be done.
func (m *moving) run(most, fewest int) {
	m.t.Helper()
	m.interleave(1000, most, fewest)
}

// interleave lets the operator and the controllers take this many steps in random order. After each step, it checks the upper limit of
// existing nodes (most) and the lower limit of ready nodes (fewest).
func (m *moving) interleave(steps, most, fewest int) {
	m.t.Helper()
	for range steps {
		kind := []cachev1alpha1.WorkloadKind{deploymentKind, statefulSetKind}[m.random.IntN(2)]
		switch m.random.IntN(4) {
		case 0:
			m.act(kind)
		case 1:
			m.report(kind)
		case 2:
			m.deliver(kind)
		default:
			m.reconcile()
		}
		nodes, ready := m.nodes()
		if nodes > most {
			m.fail("%d nodes, at most %d", nodes, most)
		}
		if ready < fewest {
			m.fail("%d nodes are ready, at least %d", ready, fewest)
		}
	}
}

func (m *moving) nodes() (nodes, ready int) {
	for _, of := range m.ready {
		nodes += len(of)
		for _, is := range of {
			if is {
				ready++
			}
		}
	}
	return nodes, ready
}

func (m *moving) checkSettled() {
	m.t.Helper()
	kind := memcached.WorkloadKind(m.mc)
	_, ready := m.nodes()
	if len(m.workloads) != 1 || m.workloads[kind] == nil || ready != int(m.mc.Spec.Size) {
		m.fail("in the end there are %d workloads with %d ready nodes", len(m.workloads), ready)
	}
}
