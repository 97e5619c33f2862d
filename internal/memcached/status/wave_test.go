// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestRestartsInPlace has three ready nodes that get a new configuration one by one. Only the answers of their launchers show the
// change, not their pods.
func TestRestartsInPlace(t *testing.T) {
	const blocked = "The operator cannot ask the node cache-2"
	const stuck = "No node has come, gone or changed for 10 minutes; to see why: kubectl describe statefulset cache -n shop"
	for name, test := range map[string]struct {
		wave memcached.Wave
		// ago is how long the change has been in progress, according to the last status. moved is how long ago the last node
		// restarted.
		ago, moved time.Duration
		paused     bool
		want       string
		updated    int32
	}{
		"at rest":           {want: complete, updated: 3},
		"one has restarted": {memcached.Wave{Open: true, Done: 1, Effect: memcached.KeepsItems}, time.Minute, 0, false, "True RollingOut: Restarting in place, with their items: 1 of 3 nodes run the new configuration", 1},
		"one does not answer": {
			memcached.Wave{Open: true, Done: 1, Blocked: blocked}, time.Minute, time.Minute, false, "True RollingOut: " + blocked, 1,
		},
		"it loses items": {
			memcached.Wave{Open: true, Done: 1, Effect: memcached.LosesItems},
			time.Minute, 0, false,
			"True RollingOut: Restarting in place, without their items: 1 of 3 nodes run the new configuration", 1,
		},
		"it grows": {
			memcached.Wave{Open: true, Done: 1, Effect: memcached.GrowsInPlace},
			time.Minute, 0, false,
			"True RollingOut: Giving nodes more memory in place, with their items: 1 of 3 nodes run the new configuration", 1,
		},
		"nothing happens": {memcached.Wave{Open: true, Done: 1}, time.Hour, 11 * time.Minute, false, "False Stuck: " + stuck, 1},
		"it takes long, and goes on": {
			memcached.Wave{Open: true, Done: 2},
			time.Hour, time.Minute, false,
			"True RollingOut: Restarting in place: 2 of 3 nodes run the new configuration", 2,
		},
		"one does not answer for long": {
			memcached.Wave{Open: true, Done: 1, Blocked: blocked}, time.Hour, time.Hour, false, "False Stuck: " + blocked, 1,
		},
		"a pause": {memcached.Wave{Open: true}, time.Minute, 0, true, "False Paused: spec.paused holds changes back; there are none now", 0},
	} {
		t.Run(name, func(t *testing.T) {
			mc := memcachedtest.Cache(3, inStatefulSet, progressing(metav1.ConditionTrue, cachev1alpha1.ReasonRollingOut, noon.Add(-test.ago)))
			mc.Spec.Paused = test.paused
			set := makeStatefulSet(t, mc, setCounts(3, 3, 3))
			set.CreationTimestamp = metav1.NewTime(noon.Add(-24 * time.Hour))
			view := memcached.NewView(mc, memcached.Observed{Children: []client.Object{set}, Pods: setPods("a", "a", "a")}, noon)
			plan := desired.For(view, memcachedtest.Options)
			plan.Wave = test.wave
			for i := range view.Pods {
				view.Pods[i].UID = "pod"
			}
			view.Answers = memcached.Answers{"pod": {Status: protocol.Status{Since: noon.Add(-test.moved)}}}
			status := For(view, plan, memcached.Written{Objects: []client.Object{set}})
			condition := conditionOf(status, cachev1alpha1.ConditionProgressing)
			if got := string(condition.Status) + " " + condition.Reason + ": " + condition.Message; got != test.want || status.UpdatedReplicas != test.updated {
				t.Errorf("%s, %d are updated", got, status.UpdatedReplicas)
			}
		})
	}
}

// TestPausedChanges covers changes of a StatefulSet that a pause holds back, and what they will cost.
func TestPausedChanges(t *testing.T) {
	limited := func(mc *cachev1alpha1.Memcached) {
		mc.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
		mc.Spec.Config.Memory = new(resource.MustParse("128Mi"))
	}
	inFile := func(mc *cachev1alpha1.Memcached) { limited(mc); mc.Spec.Storage.Type = cachev1alpha1.StorageMemoryFile }
	memory := func(quantity string) func(*cachev1alpha1.Memcached) {
		return func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Memory = new(resource.MustParse(quantity)) }
	}
	threads := func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Threads = 8 }
	const kept = "a change in place; the nodes will restart in place and keep their items"
	const empty = "a change in place; the nodes will restart in place, without their items"
	const scaling = "the StatefulSet, scaling from 3 to 5 nodes, which remaps keys"
	const recreated = "the StatefulSet" + replaced
	for name, test := range map[string]struct {
		was, change func(*cachev1alpha1.Memcached)
		pending     []string
		want        string
	}{
		"nothing":                      {limited, func(*cachev1alpha1.Memcached) {}, nil, ""},
		"threads, items in a file":     {inFile, threads, nil, kept},
		"threads, items in memory":     {limited, threads, nil, empty},
		"a restart, items in a file":   {inFile, memcachedtest.RestartedAt(2026), nil, kept},
		"memory, items in a file":      {inFile, memory("256Mi"), nil, empty},
		"more memory, items in memory": {limited, memory("256Mi"), nil, "a change in place; the nodes will get more memory in place and keep their items"},
		"less memory, items in memory": {limited, memory("64Mi"), nil, empty},
		"maxItemSize, items in a file": {inFile, func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.MaxItemSize = new(resource.MustParse("2Mi")) }, nil, empty},
		"more than the limit can hold": {inStatefulSet, func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.MaxConnections = 20000 }, []string{"StatefulSet"}, recreated},
		"an image, items in a file":    {inFile, memcachedtest.Image("memcached:2"), []string{"StatefulSet"}, recreated},
		"an image and threads":         {inFile, func(mc *cachev1alpha1.Memcached) { threads(mc); memcachedtest.Image("memcached:2")(mc) }, []string{"StatefulSet"}, recreated},
		"a size, which costs no item":  {inFile, memcachedtest.Size(5), []string{"StatefulSet"}, scaling},
		"a size, and threads":          {inFile, func(mc *cachev1alpha1.Memcached) { threads(mc); memcachedtest.Size(5)(mc) }, []string{"StatefulSet"}, scaling + ", " + kept},
	} {
		t.Run(name, func(t *testing.T) {
			was := memcachedtest.Cache(3, inStatefulSet, test.was)
			first := desired.For(memcachedtest.View(was, memcached.Observed{}), memcachedtest.Options)
			mc := was.DeepCopy()
			mc.Status.LastApplied = new(first.Record)
			test.change(mc)
			mc.Spec.Paused = true
			set := makeStatefulSet(t, was, setCounts(3, 3, 3))
			config := memcachedtest.Live(t, was, first.Wave.Arguments)
			children := []client.Object{set, config}
			pods := setPods("a", "a", "a")
			for i := range pods {
				pods[i].Annotations = first.Workload().(*appsv1.StatefulSet).Spec.Template.Annotations
			}
			view := memcached.NewView(mc, memcached.Observed{Children: children, Pods: pods}, noon)
			status := For(view, desired.For(view, memcachedtest.Options), memcached.Written{
				Objects: children, Pending: test.pending, TemplatePending: strings.HasSuffix(test.want, replaced),
			})
			want := "spec.paused holds changes back; there are none now"
			if test.want != "" {
				want = "spec.paused holds back: " + test.want + resume
			}
			if got := conditionOf(status, cachev1alpha1.ConditionProgressing).Message; got != want {
				t.Errorf("%s\nnot %s", got, want)
			}
		})
	}
}
