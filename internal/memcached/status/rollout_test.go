// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
	"github.com/example/memcached-operator/internal/rollout"
)

func inPlace(mc *cachev1alpha1.Memcached) {
	inStatefulSet(mc)
	mc.Spec.UpdateStrategy.PodUpdatePolicy = cachev1alpha1.PodUpdateInPlaceOrRecreate
}

// limitedTo sets the memory limit and the memory for items.
func limitedTo(limit, memory string) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) {
		mc.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)}
		mc.Spec.Config.Memory = ptr.To(resource.MustParse(memory))
	}
}

func with(changes ...func(*cachev1alpha1.Memcached)) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) {
		for _, change := range changes {
			change(mc)
		}
	}
}

func changedBy(mc *cachev1alpha1.Memcached, change func(*cachev1alpha1.Memcached)) *cachev1alpha1.Memcached {
	mc = mc.DeepCopy()
	change(mc)
	return mc
}

// fleetOf returns the view of a Memcached whose three nodes were created for was, and whose parents answer.
func fleetOf(t *testing.T, mc, was *cachev1alpha1.Memcached, changes ...func(*corev1.Pod)) memcached.View {
	t.Helper()
	observed := memcached.Observed{
		Children: []client.Object{makeStatefulSet(t, was, setCounts(3, 3))}, Pods: setPods(3, append([]func(*corev1.Pod){of(t, was)}, changes...)...),
	}
	view := memcached.NewView(mc, withService(mc, observed), noon)
	view.Answers = memcached.Answers{}
	for i := range view.Pods {
		pod := &view.Pods[i]
		view.Answers[pod.UID] = memcached.Answer{Status: protocol.Status{List: memcached.FirstList(pod), SecondsInEffect: 3600}}
	}
	return view
}

func planned(view memcached.View, pending ...string) cachev1alpha1.MemcachedStatus {
	return For(view, desired.For(view, memcachedtest.Options), memcached.Written{Pending: pending})
}

func progressingOf(status cachev1alpha1.MemcachedStatus) string {
	condition := conditionOf(status, cachev1alpha1.ConditionProgressing)
	return string(condition.Status) + " " + condition.Reason + ": " + condition.Message
}

// TestCosts has changes of a StatefulSet: what a pause says of them before, and what Progressing says when they begin.
func TestCosts(t *testing.T) {
	limited := limitedTo("1Gi", "128Mi")
	inFile := with(limited, func(mc *cachev1alpha1.Memcached) { mc.Spec.Storage.Type = cachev1alpha1.StorageMemoryFile })
	threads := func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Threads = 8 }
	image := memcachedtest.Image("memcached:2")
	const (
		kept, keeping       = "; the nodes will restart in place and keep their items", "Restarting in place, with their items"
		emptied, emptying   = "; the nodes will restart in place, without their items", "Restarting in place, without their items"
		growing             = "Giving nodes more memory in place, with their items"
		version             = "; the nodes will restart in place; items are kept only with the same version of memcached"
		ofVersion           = "Restarting in place; items are kept only with the same version of memcached"
		recreating          = "Replacing nodes, without their items"
		arguments, template = "cache-2 gets other arguments", "cache-2 waits until the StatefulSet's controller has seen the new template"
	)
	for name, test := range map[string]struct {
		was, change        func(*cachev1alpha1.Memcached)
		held, doing, first string
	}{
		"nothing":                                {limited, func(*cachev1alpha1.Memcached) {}, "", "", ""},
		"threads, items in a file":               {inFile, threads, kept, keeping, arguments},
		"threads, items in memory":               {limited, threads, emptied, emptying, arguments},
		"a restart, items in a file":             {inFile, memcachedtest.RestartedAt(2026), kept, keeping, arguments},
		"memory, items in a file":                {inFile, limitedTo("1Gi", "256Mi"), emptied, emptying, arguments},
		"more memory, items in memory":           {limited, limitedTo("1Gi", "256Mi"), "; the nodes will get more memory in place and keep their items", growing, arguments},
		"less memory, items in memory":           {limited, limitedTo("1Gi", "64Mi"), emptied, emptying, arguments},
		"a higher limit":                         {inStatefulSet, func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.MaxConnections = 20000 }, replaced, recreating, template},
		"an image":                               {inFile, image, replaced, recreating, template},
		"an image and threads":                   {inFile, with(threads, image), replaced, recreating, template},
		"an image in place":                      {with(inPlace, limited), image, emptied, emptying, "cache-2 restarts with another image in place"},
		"an image in place, and items in a file": {with(inPlace, inFile), image, version, ofVersion, "cache-2 restarts with another image in place"},
		"a higher limit in place": {
			with(inPlace, limited), limitedTo("2Gi", "128Mi"), "; the nodes will keep their pods, and change in place",
			"Updating in place, no pod is replaced", "cache-2 gets other resources in place",
		},
	} {
		t.Run(name, func(t *testing.T) {
			was := memcachedtest.Cache(3, inStatefulSet, test.was, reported("AsExpected", time.Hour))
			mc := changedBy(was, test.change)
			want := complete
			if test.doing != "" {
				want = "True RollingOut: " + test.doing + ": 0 of 3 nodes are updated; " + test.first
			}
			status := planned(fleetOf(t, mc, was))
			if got := progressingOf(status); got != want {
				t.Errorf("%s\nnot %s", got, want)
			}
			if test.doing != "" && status.UpdatedReplicas != 0 {
				t.Errorf("%d nodes are updated", status.UpdatedReplicas)
			}
			memcachedtest.Paused(mc)
			want = nothingHeld
			if test.held != "" {
				want = "False Paused: spec.paused holds back: a rollout" + test.held + resume
			}
			if got := progressingOf(planned(fleetOf(t, mc, was))); got != want {
				t.Errorf("%s\nnot %s", got, want)
			}
		})
	}
}

// TestCostOfResizing has pods in which a webhook makes each change of resources restart memcached.
func TestCostOfResizing(t *testing.T) {
	was := memcachedtest.Cache(3, inPlace, limitedTo("1Gi", "128Mi"))
	got := progressingOf(planned(fleetOf(t, changedBy(was, limitedTo("2Gi", "128Mi")), was, func(pod *corev1.Pod) {
		pod.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: "memory", RestartPolicy: corev1.RestartContainer}}
	})))
	if want := "True RollingOut: Restarting in place, without their items, because their resizePolicy is RestartContainer: 0 of 3 nodes are " +
		"updated; cache-2 gets other resources in place"; got != want {
		t.Errorf("%s\nnot %s", got, want)
	}
}

// TestPausedSizeAndRollout has a new size, which the workload lacks, and a change of the nodes.
func TestPausedSizeAndRollout(t *testing.T) {
	was := memcachedtest.Cache(3, inStatefulSet)
	mc := changedBy(was, with(memcachedtest.Size(5), memcachedtest.Image("memcached:2"), memcachedtest.Paused))
	status := planned(fleetOf(t, mc, was), "StatefulSet")
	want := "False Paused: spec.paused holds back: the StatefulSet, scaling from 3 to 5 nodes, which remaps keys, a rollout" + replaced + resume
	if got := progressingOf(status); got != want {
		t.Errorf("%s\nnot %s", got, want)
	}
}

// TestRefusals has a node that has refused what the spec asks for. Degraded says what, and when the operator tries again.
func TestRefusals(t *testing.T) {
	limited := limitedTo("1Gi", "128Mi")
	was := memcachedtest.Cache(3, inPlace, limited)
	t.Run("an image", func(t *testing.T) {
		mc := changedBy(was, memcachedtest.Image("memcached:2"))
		view := fleetOf(t, mc, was)
		said, _ := memcached.AskedOf(view.Pods[2].Annotations)
		said.Refused = &memcached.RefusedStep{Action: rollout.SetImage, Refused: protocol.Refused{
			Value: desired.For(view, memcachedtest.Options).Target.Value(rollout.SetImage), Words: "not found", Tries: 2, At: noon,
		}}
		view.Pods[2].Annotations = map[string]string{memcached.AskedAnnotation: said.Annotation()}
		checkRefused(t, view, "ImagePullFailed: Pod cache-2 was not changed in place: not found. It keeps its former image, and the other pods keep "+
			"theirs. This was try 2. Correct spec.image, or wait: the operator tries again after 1, 5 and 30 minutes")
	})
	t.Run("arguments", func(t *testing.T) {
		mc := changedBy(was, func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Threads = 8 })
		view := fleetOf(t, mc, was)
		target := desired.For(view, memcachedtest.Options).Target
		entry := protocol.Entry{Pod: "cache-2", Number: 2, List: memcached.FirstList(&view.Pods[2])}
		entry.Refused = &protocol.Refused{Value: target.Value(rollout.Assign), Words: "memcached exits", Tries: 1, At: noon}
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: "cache-arguments", OwnerReferences: []metav1.OwnerReference{memcachedtest.Controller("Memcached", "cache", "cache-uid")},
		}, Data: map[string]string{"cache-2": entry.String()}}
		view.Children = append(view.Children, config)
		answer := view.Answers[types.UID("cache-2")]
		answer.Number = 2
		view.Answers["cache-2"] = answer
		checkRefused(t, view, "ChangeRefused: the node cache-2 has refused the configuration and keeps its former one: memcached exits; change spec.config")
	})
}

// checkRefused expects a change that cannot continue because of this problem.
func checkRefused(t *testing.T, view memcached.View, want string) {
	t.Helper()
	status := planned(view)
	degraded := conditionOf(status, cachev1alpha1.ConditionDegraded)
	if got := "True " + degraded.Reason + ": " + degraded.Message; got != leadToRunbook("True "+want) || degraded.Status != metav1.ConditionTrue {
		t.Errorf("%s\nnot %s", got, want)
	}
	if got := progressingOf(status); got != seeDegraded {
		t.Error(got)
	}
}

// TestOlderPods has nodes that an earlier operator started, with its image, and that nothing in the spec asks to change.
func TestOlderPods(t *testing.T) {
	mc := memcachedtest.Cache(3, inStatefulSet, reported("AsExpected", time.Hour))
	earlier := func(image string) memcached.View {
		older := memcachedtest.Options
		older.DefaultImage = image
		template := desired.For(memcachedtest.View(mc, memcached.Observed{}), older).Workload()
		return fleetOf(t, mc, mc, func(pod *corev1.Pod) {
			pod.Annotations, pod.Spec = memcached.PodTemplate(template).Annotations, memcached.PodTemplate(template).Spec
		})
	}
	for image, want := range map[string]string{
		memcachedtest.DefaultImage: complete,
		"memcached:1.6.40":         tooOld + "adopt the operator's default image: " + replaceNow,
		"memcached:1.6.46":         "False Outdated: 3 of 3 nodes have an older agent or defaults of the operator; new pods get the present ones. " + toReplace,
	} {
		status := planned(earlier(image))
		if got := progressingOf(status); got != want || status.Image != image || status.UpdatedReplicas != 3 {
			t.Errorf("%s, %s, %d are updated", got, status.Image, status.UpdatedReplicas)
		}
	}
}

// TestUpdatedNodes has one node that is what the spec asks for, and that does not serve yet.
func TestUpdatedNodes(t *testing.T) {
	was := memcachedtest.Cache(3, inStatefulSet)
	mc := changedBy(was, memcachedtest.Image("memcached:2"))
	view := fleetOf(t, mc, was)
	of(t, mc)(&view.Pods[1])
	notReady(&view.Pods[1])
	if status := planned(view); status.UpdatedReplicas != 1 || status.ReadyReplicas != 2 {
		t.Errorf("%d are updated, %d are ready", status.UpdatedReplicas, status.ReadyReplicas)
	}
}

func TestARestartWithAnotherImageIsNoCrash(t *testing.T) {
	asked := memcached.Asked{Asked: rollout.Asked{Template: "a"}, Former: &memcached.FormerPod{}}
	for code, crashes := range map[int32]bool{0: false, 1: true} {
		pod := setPod(0, notReady, stopped(code, "Completed", ""))
		pod.Annotations = map[string]string{memcached.AskedAnnotation: asked.Annotation()}
		if words := crashing(nil, &pod); (words != "") != crashes {
			t.Errorf("exit code %d: %s", code, words)
		}
	}
}
