// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// fleet simulates a cluster with one StatefulSet, the ConfigMap with its argument lists, and pods with launchers.
type fleet struct {
	t      *testing.T
	mc     *cachev1alpha1.Memcached
	opts   memcached.Options
	set    *appsv1.StatefulSet
	config *corev1.ConfigMap
	// updated is the new template of a rollout. current is the template before the rollout. Without a rollout, they are the same.
	updated, current *corev1.PodTemplateSpec
	nodes            map[int]*fakeNode
	made             int
	seconds          int64
	// before137 reports that the StatefulSet's controller ignores maxUnavailable and minReadySeconds, as before Kubernetes 1.37.
	before137 bool
	// unwritable reports that writes of the ConfigMap fail. If refused is not empty, memcached cannot run with an argument list that contains
	// this text.
	unwritable bool
	refused    string
	// If unpullable is not empty, an image whose name contains this text cannot be pulled.
	unpullable string
	// pinned maps containers to the images that a webhook sets in all pods.
	pinned map[string]string
	// hide removes objects from what the operator observes, or changes them. While it is not nil, the operator cannot write the StatefulSet.
	hide func(*memcached.Observed)
	// tampered reports that somebody else has changed the ConfigMap since the last call of the method settle.
	tampered bool

	twin *fleet

	remembered memcached.Answers
	filled     map[types.UID]bool
	plan       memcached.Plan
	// asked lists the nodes to which the operator has sent a request since the last call of the method look. writes lists the objects
	// that were written in that time.
	asked, writes []string
	log           []string
}

func newFleet(t *testing.T, size int32, changes ...func(*cachev1alpha1.Memcached)) *fleet {
	t.Helper()
	f := &fleet{
		t: t, mc: memcachedtest.Cache(size, append(changes, workloadKind(statefulSetKind))...), opts: memcachedtest.Options,
		nodes: map[int]*fakeNode{},
	}
	f.settle()
	f.look()
	return f
}

func (f *fleet) observed() memcached.Observed {
	observed := memcached.Observed{Children: memcachedtest.Children(f.config, f.set)}
	for _, ordinal := range slices.Sorted(maps.Keys(f.nodes)) {
		pod := f.nodes[ordinal].pod(f.mc)
		if f.set == nil {
			pod.OwnerReferences = nil
		}
		observed.Pods = append(observed.Pods, pod)
	}
	if f.hide != nil {
		f.hide(&observed)
	}
	return observed
}

// decide does what the operator does before it writes: it asks nodes, and stores the answers of nodes that it need not ask again.
func (f *fleet) decide() (memcached.View, memcached.Plan) {
	f.t.Helper()
	view := memcachedtest.View(f.mc, f.observed())
	view.Now = second(f.seconds)
	view.Answers, view.Filled = f.remembered, f.filled
	if f.twin != nil {
		view.Twins = []memcached.View{memcachedtest.View(f.twin.mc, f.twin.observed())}
	}
	for range 3 {
		answers := maps.Clone(view.Answers)
		if answers == nil {
			answers = memcached.Answers{}
		}
		plan := For(view, f.opts)
		for _, pod := range append(slices.Clone(plan.Wave.Ask), plan.Twins.Ask...) {
			if _, again := view.Answers[pod.UID]; again {
				f.fail("%s is asked again", pod.Name)
			}
			ordinal, _ := memcached.Ordinal(pod)
			asked := f
			if pod.Labels[memcached.InstanceLabel] != f.mc.Name {
				asked = f.twin
			}
			answers[pod.UID] = asked.nodes[ordinal].answer(f.seconds)
			f.asked = append(f.asked, pod.Name)
		}
		view.Answers = answers
	}
	plan := For(view, f.opts)
	f.remembered, f.filled = nil, plan.Twins.Filled
	if plan.Wave.Open && !plan.InPlace.Open {
		f.remembered = memcached.Answers{}
		for _, uid := range plan.Wave.Running {
			f.remembered[uid] = view.Answers[uid]
		}
	}
	return view, plan
}

// reconcile lets the operator decide, and write unless the Memcached is paused.
func (f *fleet) reconcile() {
	f.t.Helper()
	view, plan := f.decide()
	f.plan = plan
	if !f.mc.Spec.Paused {
		err := f.writeConfig(view, plan)
		if f.hide == nil {
			f.writeSet(plan, err != nil || plan.Problem != nil)
		}
		f.patchPod(plan.InPlace)
	}
	after := view.After(f.observed().Children)
	f.mc.Status.LastApplied = after.CarriedOut(plan.Record)
	if record := f.mc.Status.LastApplied; record != nil && f.rests() {
		record.Former = nil
	}
	f.mc.Status.ObservedGeneration = f.mc.Generation
}

func (f *fleet) writeConfig(view memcached.View, plan memcached.Plan) error {
	f.t.Helper()
	next := plan.Wave.Arguments
	switch {
	case next == nil || f.config != nil && maps.Equal(f.config.Data, next.Data):
		return nil
	case f.unwritable, f.config != nil && len(f.config.OwnerReferences) > 0 && f.config.OwnerReferences[0].UID != f.mc.UID:
		return errors.New("refused")
	}
	f.checkMoves(view, plan)
	f.writes = append(f.writes, "ConfigMap")
	f.log = append(f.log, fmt.Sprintf("ConfigMap %v", next.Data))
	f.setConfig(maps.Clone(next.Data))
	return nil
}

func (f *fleet) setConfig(data map[string]string) {
	f.config = memcachedtest.Live(f.t, f.mc, argumentsConfigMap(f.mc, data))
}

func (f *fleet) writeSet(plan memcached.Plan, sizeOnly bool) {
	wanted := plan.Workload().(*appsv1.StatefulSet)
	switch {
	case f.set == nil && sizeOnly:
		return
	case f.set == nil:
		f.set = memcachedtest.Live(f.t, f.mc, wanted)
		f.updated = f.set.Spec.Template.DeepCopy()
		f.current = f.updated
	default:
		before := encode(f.set)
		if sizeOnly {
			f.set.Spec.Replicas = wanted.Spec.Replicas
		} else {
			f.set.Spec, f.set.Annotations = *wanted.Spec.DeepCopy(), wanted.Annotations
		}
		if encode(f.set) == before {
			return
		}
		f.set.Generation++
		f.updated = f.set.Spec.Template.DeepCopy()
	}
	f.writes = append(f.writes, "StatefulSet")
	f.log = append(f.log, fmt.Sprintf("StatefulSet of %d with %s", *f.set.Spec.Replicas, sectionOf(f.updated)))
}

func sectionOf(template *corev1.PodTemplateSpec) string {
	return template.Annotations[memcached.TemplateAnnotation]
}

// tick lets 5 seconds pass for the launchers and kubelets.
func (f *fleet) tick() {
	f.seconds += 5
	for _, ordinal := range slices.Sorted(maps.Keys(f.nodes)) {
		node := f.nodes[ordinal]
		if !node.ran && node.files == nil {
			f.deliver(ordinal)
		}
		node.tick(f.seconds, f.refused)
		node.kubelet(f.seconds, f.unpullable)
		if was := node.served; !was || !node.ready() {
			node.served, node.servedSince = node.ready(), f.seconds
		}
		f.checkMemory(node)
	}
}

// second returns the time of a second of the simulation.
func second(number int64) time.Time {
	return time.Date(2026, time.January, 1, 12, 0, int(number), 0, time.UTC)
}

// turn lets the StatefulSet's controller, the kubelets, each launcher and the operator act once.
func (f *fleet) turn() {
	f.t.Helper()
	f.act()
	f.report()
	for ordinal := range f.nodes {
		f.deliver(ordinal)
	}
	f.tick()
	f.report()
	f.reconcile()
}

// settle calls turn until nothing remains to be done, and checks the result.
func (f *fleet) settle() {
	f.t.Helper()
	for range 400 {
		before := len(f.writes)
		f.turn()
		if len(f.writes) == before && f.rests() && !f.restarting() && f.set.Status.ReadyReplicas == f.mc.Spec.Size {
			f.checkRest()
			f.tampered = false
			return
		}
	}
	for ordinal, node := range f.nodes {
		f.log = append(f.log, fmt.Sprintf("%d of %s: %+v", ordinal, sectionOf(node.template), node.answer(f.seconds)))
	}
	f.fail("it does not settle: open %t, %s %v, status %+v", f.plan.Wave.Open, f.plan.Wave.Blocked, f.plan.Problem, f.set.Status)
}

// rests reports that no change is under way.
func (f *fleet) rests() bool {
	rolling := f.set == nil || sectionOf(f.current) != sectionOf(f.updated) || len(f.nodes) != int(f.mc.Spec.Size) ||
		f.set.Status.UpdatedReplicas != f.mc.Spec.Size
	return !f.plan.Wave.Open && !f.plan.InPlace.Open && !rolling
}

// restarting reports whether a node is restarting. This can happen even when no change is under way: a launcher had already read an
// argument list that was then taken back, and now restarts memcached with the former list.
func (f *fleet) restarting() bool {
	for _, node := range f.nodes {
		if node.answer(f.seconds).Restarting != "" {
			return true
		}
	}
	return false
}

// look returns which nodes were asked and which objects were written since the last call of this method.
func (f *fleet) look() (asked, writes string) {
	asked, writes = strings.Join(f.asked, " "), strings.Join(f.writes, " ")
	f.asked, f.writes = nil, nil
	return asked, writes
}

func (f *fleet) fail(format string, args ...any) {
	f.t.Helper()
	f.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(f.log, "\n"))
}

// podOf returns a pod as the StatefulSet's controller creates it.
func podOf(mc *cachev1alpha1.Memcached, ordinal int, uid types.UID, template *corev1.PodTemplateSpec) corev1.Pod {
	labels := memcached.SelectorLabels(mc)
	labels[appsv1.ControllerRevisionHashLabelKey] = revisionOf(template)
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-%d", mc.Name, ordinal), Namespace: mc.Namespace, UID: uid,
		Annotations: maps.Clone(template.Annotations), Labels: labels,
		OwnerReferences: []metav1.OwnerReference{memcachedtest.Controller("StatefulSet", mc.Name, "statefulset-uid")},
	}, Spec: *template.Spec.DeepCopy()}
}
