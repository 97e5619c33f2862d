// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
	"github.com/example/memcached-operator/internal/rollout"
)

// scene is a StatefulSet, its pods, and the answers of their parents. In a new scene, all nodes are what the spec asks for. With copies,
// others are their StatefulSets, and the pods are in the order of the copies.
type scene struct {
	mc      *cachev1alpha1.Memcached
	set     *appsv1.StatefulSet
	others  []*appsv1.StatefulSet
	config  *corev1.ConfigMap
	pods    []corev1.Pod
	answers memcached.Answers
	absent  map[string]time.Time
	agents  memcached.AgentReports
	made    int
}

var sceneTime = memcachedtest.View(memcachedtest.Cache(1), memcached.Observed{}).Now

func newScene(t *testing.T, size int32, changes ...edit) *scene {
	t.Helper()
	mc := memcachedtest.Cache(size, append([]edit{workloadKind(statefulSetKind)}, changes...)...)
	mc.Status.Servers = make([]string, size)
	plan := For(memcachedtest.View(mc, memcached.Observed{}), memcachedtest.Options)
	s := &scene{mc: mc, answers: memcached.Answers{}}
	for _, object := range plan.Objects {
		if set, ok := object.(*appsv1.StatefulSet); ok {
			set = memcachedtest.Live(t, mc, set)
			set.Status = appsv1.StatefulSetStatus{ObservedGeneration: 1, UpdateRevision: "revision-1"}
			s.others = append(s.others, set)
		}
	}
	s.set, s.others = s.others[0], s.others[1:]
	for number := range int(size) * (len(s.others) + 1) {
		s.pods = append(s.pods, corev1.Pod{})
		s.replace(number)
	}
	return s
}

// replace creates a pod from the template, and starts it.
func (s *scene) replace(number int) {
	s.made++
	size := int(s.mc.Spec.Size)
	set := append([]*appsv1.StatefulSet{s.set}, s.others...)[number/max(size, 1)%(len(s.others)+1)]
	template, pod := set.Spec.Template.DeepCopy(), &s.pods[number]
	labels := memcached.SelectorLabels(s.mc)
	labels[appsv1.ControllerRevisionHashLabelKey] = set.Status.UpdateRevision
	if len(s.others) > 0 {
		number %= size
	}
	*pod = corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-%d", set.Name, number), Namespace: "shop", UID: types.UID(fmt.Sprintf("%s-pod-%d", s.mc.Name, s.made)), Labels: labels,
		Annotations:     template.Annotations,
		OwnerReferences: []metav1.OwnerReference{memcachedtest.Controller("StatefulSet", set.Name, "statefulset-uid")},
	}, Spec: template.Spec}
	long := metav1.NewTime(sceneTime.Add(-time.Hour))
	pod.Status = corev1.PodStatus{PodIP: "10.0.0.1", Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: long}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
	}, ContainerStatuses: []corev1.ContainerStatus{{
		Name: memcached.ContainerName, Started: ptr.To(true), Resources: pod.Spec.Containers[0].Resources.DeepCopy(),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}}
	s.answer(pod, protocol.Entry{List: memcached.FirstList(pod)})
}

// answer lets the parent of a pod answer that this entry has been in effect for an hour.
func (s *scene) answer(pod *corev1.Pod, entry protocol.Entry) {
	s.answers[pod.UID] = memcached.Answer{Status: protocol.Status{Number: entry.Number, List: entry.List, SecondsInEffect: 3600}}
}

// enter puts the entry of a node with these arguments into the ConfigMap.
func (s *scene) enter(ordinal int, change func(*protocol.Entry), spec ...edit) protocol.Entry {
	mc := s.mc.DeepCopy()
	for _, change := range spec {
		change(mc)
	}
	entry := protocol.Entry{Pod: string(s.pods[ordinal].UID), Number: 1, List: argumentList(mc)}
	change(&entry)
	if s.config == nil {
		s.config = nodeRole(s.mc).configMap(memcached.ArgumentsSuffix, map[string]string{})
		s.config.OwnerReferences = []metav1.OwnerReference{memcachedtest.Controller("Memcached", s.mc.Name, s.mc.UID)}
	}
	s.config.Data[s.pods[ordinal].Name] = entry.String()
	return entry
}

func (s *scene) view() memcached.View {
	pods := slices.DeleteFunc(slices.Clone(s.pods), func(pod corev1.Pod) bool { return pod.Name == "" })
	children := memcachedtest.Children(s.set, s.config)
	for _, set := range s.others {
		children = append(children, set)
	}
	v := memcachedtest.View(s.mc, memcached.Observed{Children: children, Pods: pods})
	v.Answers, v.Absent = maps.Clone(s.answers), s.absent
	v.Agents = s.agents
	return v
}

func (s *scene) observe(ordinal int) (*fleet, *node) {
	v := s.view()
	f := fleetOf(v, targetOf(v))
	return f, f.nodes[ordinal]
}

// all returns a change that makes all of these changes. A change may be nil.
func all[T any](changes ...func(T)) func(T) {
	return func(it T) {
		for _, change := range changes {
			if change != nil {
				change(it)
			}
		}
	}
}

func pod(ordinal int, changes ...func(*corev1.Pod)) func(*scene) {
	return func(s *scene) { all(changes...)(&s.pods[ordinal]) }
}

// asked changes the annotation that says what a pod was asked for.
func asked(change func(*memcached.Asked)) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		asked, _ := memcached.AskedOf(pod.Annotations)
		change(&asked)
		pod.Annotations[memcached.AskedAnnotation] = asked.Annotation()
	}
}

func hasRefused(action rollout.Action, value string, tries int, ago time.Duration) func(*corev1.Pod) {
	return asked(func(a *memcached.Asked) {
		a.Refused = &memcached.RefusedStep{Action: action, Refused: protocol.Refused{Value: value, Tries: tries, At: sceneTime.Add(-ago), Words: "no."}}
	})
}

func answers(ordinal int, change func(*memcached.Answer)) func(*scene) {
	return func(s *scene) {
		answer := s.answers[s.pods[ordinal].UID]
		change(&answer)
		s.answers[s.pods[ordinal].UID] = answer
	}
}

func memoryOnly(quantity string) *corev1.ResourceRequirements {
	list := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(quantity)}
	return &corev1.ResourceRequirements{Limits: list, Requests: list}
}

// addsStorage gives memcached a limit that the spec does not have.
func addsStorage(pod *corev1.Pod) {
	for _, resources := range []*corev1.ResourceRequirements{&pod.Spec.Containers[0].Resources, memcachedOf(pod).Resources} {
		resources.Limits[corev1.ResourceEphemeralStorage] = resource.MustParse("1Gi")
	}
}

func memcachedOf(pod *corev1.Pod) *corev1.ContainerStatus { return &pod.Status.ContainerStatuses[0] }

func hasRun(pod *corev1.Pod) {
	memcachedOf(pod).LastTerminationState.Terminated = &corev1.ContainerStateTerminated{}
}

func pullFails(pod *corev1.Pod) {
	memcachedOf(pod).State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}}
	pod.Status.Conditions[0].Status, pod.Status.Conditions[1].Status = corev1.ConditionFalse, corev1.ConditionFalse
}

// evicted lets a pod have exceeded its grace period for this time, after the eviction from a lost cluster node.
func evicted(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(sceneTime.Add(-ago))), ptr.To[int64](35)
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: "True", Reason: "DeletionByTaintManager"})
	}
}

func itemMemory(quantity string) edit { return inSpec(memory(quantity)) }

func threadsOf(n int32) edit {
	return inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.Config.Threads = n })
}

func connections(n int32) edit {
	return inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.Config.MaxConnections = n })
}

func inSpec(change func(*cachev1alpha1.MemcachedSpec)) edit {
	return func(mc *cachev1alpha1.Memcached) { change(&mc.Spec) }
}

func inFile(mc *cachev1alpha1.Memcached) {
	itemMemory("128Mi")(mc)
	mc.Spec.Storage.Type = cachev1alpha1.StorageMemoryFile
}

func teamLabel(mc *cachev1alpha1.Memcached) {
	mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"team": "a"}
}

func inPlace(mc *cachev1alpha1.Memcached) {
	mc.Spec.UpdateStrategy.PodUpdatePolicy = cachev1alpha1.PodUpdateInPlaceOrRecreate
}

// TestNodes covers what is observed of the last node of three: what differs from a node that is what the spec asks for. Then the spec may
// change.
func TestNodes(t *testing.T) {
	node := func(changes ...func(*corev1.Pod)) func(*scene) { return pod(2, changes...) }
	answer := func(change func(*memcached.Answer)) func(*scene) { return answers(2, change) }
	silent := func(s *scene) { delete(s.answers, s.pods[2].UID) }
	entry := func(change func(*protocol.Entry), spec ...edit) func(*scene) {
		return func(s *scene) { s.enter(2, change, spec...) }
	}
	asIs := func(*protocol.Entry) {}
	unasked := func(p *corev1.Pod) { delete(p.Annotations, memcached.AskedAnnotation) }
	formerTemplate := func(p *corev1.Pod) { p.Labels[appsv1.ControllerRevisionHashLabelKey] = "revision-0" }
	waiting := func(p *corev1.Pod) { memcachedOf(p).State = corev1.ContainerState{} }
	complete := func(s *scene) {
		s.mc.Status.Conditions = []metav1.Condition{{Type: cachev1alpha1.ConditionProgressing, Status: "False", ObservedGeneration: memcachedtest.Generation}}
	}
	limit := func(bytes int64) func(*corev1.Pod) { return asked(func(a *memcached.Asked) { a.DefaultLimit = bytes }) }
	// image lets a pod have another image than before, with a container that has restarted this often.
	image := func(restarts int32) func(*corev1.Pod) {
		return all(func(p *corev1.Pod) { memcachedOf(p).RestartCount = restarts }, asked(func(a *memcached.Asked) {
			a.Former = &memcached.FormerPod{PodImage: "memcached:former", Restarts: 3}
		}))
	}
	resized := asked(func(a *memcached.Asked) { a.Former = &memcached.FormerPod{Resources: "former"} })
	pending := func(reason string, generation int64) func(*corev1.Pod) {
		return all(resized, func(p *corev1.Pod) {
			p.Generation, p.Spec.Containers[0].Resources = 5, *memoryOnly("1Gi")
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Reason: reason, Message: "no room", ObservedGeneration: generation})
		})
	}
	refused := func(tries int, ago time.Duration) func(*scene) {
		return node(hasRefused(rollout.SetImage, "", tries, ago))
	}
	minReady := inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.UpdateStrategy.MinReadySeconds = 60 })
	for name, c := range map[string]struct {
		spec   edit
		is     func(*scene)
		change edit
		want   string
	}{
		"at rest":          {},
		"no pod":           {is: func(s *scene) { s.pods = s.pods[:2] }, want: "Absent next 1m0s"},
		"of somebody else": {is: node(func(p *corev1.Pod) { p.OwnerReferences[0].Name = "other" }), want: "Absent next 1m0s"},
		"no pod for 40 s": {is: func(s *scene) {
			s.pods, s.absent = s.pods[:2], map[string]time.Time{"cache-2": sceneTime.Add(-40 * time.Second)}
		}, want: "Absent next 20s"},
		"leaving":      {is: node(evicted(0)), want: "Leaving next 10s"},
		"lost":         {is: node(evicted(time.Minute)), want: "Lost"},
		"failed":       {is: node(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), want: "Leaving"},
		"never served": {is: all(func(s *scene) { s.mc.Status.Servers = s.mc.Status.Servers[:2] }, node(pullFails)), want: "!Served !Ready !Started Stopped Failed Replace: not found"},
		"a crash": {is: node(waiting, func(p *corev1.Pod) {
			memcachedOf(p).LastTerminationState.Terminated = &corev1.ContainerStateTerminated{}
		}), want: "Stopped"},
		"has not started": {is: node(waiting), want: "!Started Stopped"},
		"no room": {is: node(waiting, func(p *corev1.Pod) {
			p.Status.Conditions[0] = corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes"}
		}), want: "!Ready !Started Stopped Failed Replace: 0/3 nodes"},
		"cut off":        {is: node(func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }), want: "!Ready CutOff"},
		"ready for long": {spec: minReady},
		"ready for 20 s": {spec: minReady, is: node(func(p *corev1.Pod) {
			p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(sceneTime.Add(-20 * time.Second))
		}), want: "!Available next 45s"},
		"restarted before 20 s":               {spec: minReady, is: answer(func(a *memcached.Answer) { a.SecondsInEffect = 20 }), want: "!Available next 40s"},
		"says what would wait for 512 ns":     {spec: minReady, is: answer(func(a *memcached.Answer) { a.SecondsInEffect = -20211507185753137 }), want: "!Available next 1m0s"},
		"does not answer":                     {is: answer(func(a *memcached.Answer) { *a = memcached.Answer{Failure: "timeout"} }), want: "Serves 0 Silent timeout"},
		"was not asked":                       {is: silent, want: "Serves 0"},
		"no address":                          {is: all(silent, node(func(p *corev1.Pod) { p.Status.PodIP = "" })), want: "Serves 0 Silent it has no address yet"},
		"restarts":                            {is: answer(func(a *memcached.Answer) { a.Restarting = true }), want: "Serves 1"},
		"is being filled":                     {is: answer(func(a *memcached.Answer) { a.Fill = &protocol.Fill{State: protocol.FillCopying} }), want: "Serves 1"},
		"is filled while it serves":           {is: answer(func(a *memcached.Answer) { a.Fill = &protocol.Fill{State: protocol.FillCopying, Ready: true} })},
		"has nothing in effect":               {is: answer(func(a *memcached.Answer) { a.List = protocol.List{} }), want: "Serves 1"},
		"no annotation":                       {is: node(unasked)},
		"no annotation, of a former template": {is: node(unasked, formerTemplate), want: "Template Resources"},
		"no annotation, after the rollout":    {is: all(node(unasked, formerTemplate), complete)},
		"no annotation, changed":              {is: node(unasked), change: teamLabel, want: "Template"},
		"but flags": {is: all(node(unasked), func(s *scene) {
			asked(func(a *memcached.Asked) { a.Arguments = "newer" })(&corev1.Pod{ObjectMeta: s.set.Spec.Template.ObjectMeta})
		})},
		"nobody has one":        {is: all(func(s *scene) { s.set.Spec.Template.Annotations = nil }, node(unasked)), want: "Template Resources"},
		"another spec":          {change: all(teamLabel, itemMemory("128Mi"), memcachedtest.Image("other")), want: "Template Image Resources Arguments"},
		"the image it has":      {change: memcachedtest.Image(memcachedtest.DefaultImage)},
		"the resources it has":  {change: withLimit(corev1.ResourceMemory, "202Mi")},
		"what it has refused":   {is: node(hasRefused(rollout.Resize, "", 1, 0)), change: withLimit(corev1.ResourceMemory, "202Mi"), want: "Resources Refused Resize next 1m0s"},
		"less than it has":      {change: threadsOf(2), want: "Arguments"},
		"its limit holds more":  {change: connections(1200), want: "Arguments"},
		"its limit is outgrown": {change: connections(9000), want: "Resources Arguments"},
		"an older, lower limit": {is: node(limit(1))},
		"and then a restart":    {is: node(limit(1)), change: memcachedtest.RestartedAt(2026), want: "Resources Arguments"},
		"an autoscaler": {is: node(func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources = *memoryOnly("100Mi")
			memcachedOf(p).Resources = memoryOnly("100Mi")
		}), want: "Limit 100 AskedLimit 100"},

		"a platform":       {is: node(addsStorage, resized)},
		"another revision": {is: node(formerTemplate)},
		"none for a minute": {is: func(s *scene) {
			s.pods, s.absent = s.pods[:2], map[string]time.Time{"cache-2": sceneTime.Add(-time.Minute)}
		}, want: "Absent Slow there has been none for a minute: look for events of the StatefulSet, and for finalizers of the former one"},

		"an entry in effect": {is: all(entry(asIs), answer(func(a *memcached.Answer) { a.Number = 1 })), want: "Assigned"},
		"an entry for another pod": {is: entry(func(e *protocol.Entry) {
			e.Pod, e.Arguments = "pod-0", strings.Replace(e.Arguments, "-m 64", "-m 999", 1)
		})},
		"a lost entry":               {is: answer(func(a *memcached.Answer) { a.Number, a.List.Target = 7, "seven" }), want: "Arguments Assigned restored 7"},
		"an entry not in effect":     {is: entry(asIs, itemMemory("100Mi")), want: "Arguments Assigned ArgumentsTaken 1 Use +42"},
		"it still runs more":         {is: all(entry(asIs), answer(func(a *memcached.Answer) { a.List.Arguments = strings.Replace(a.List.Arguments, "-m 64", "-m 99", 1) })), want: "Assigned ArgumentsTaken 1 Use +41"},
		"the number of another list": {is: all(entry(asIs), answer(func(a *memcached.Answer) { a.Number, a.List.Target = 1, "other" })), want: "Assigned ArgumentsTaken 1"},
		"still restarting":           {is: all(entry(asIs), answer(func(a *memcached.Answer) { a.Number, a.Restarting = 1, true })), want: "Assigned ArgumentsTaken 1 Serves 1"},
		"a refused entry":            {is: all(entry(asIs), answer(func(a *memcached.Answer) { a.Refused = &protocol.Refusal{Number: 1, Reason: "exit 1"} })), want: "Assigned ArgumentsTaken 1 Failed Assign: exit 1"},
		"an earlier refusal":         {is: all(entry(asIs), answer(func(a *memcached.Answer) { a.Refused = &protocol.Refusal{Number: 9} })), want: "Assigned ArgumentsTaken 1"},
		"an entry, was not asked":    {is: all(entry(asIs), silent), want: "Assigned ArgumentsTaken 0 Serves 0"},
		"and may run the former": {is: all(entry(func(e *protocol.Entry) {
			e.Former = &protocol.List{Arguments: strings.Replace(e.Arguments, "-m 64", "-m 96", 1)}
		}), silent), want: "Assigned ArgumentsTaken 0 Use +38 Serves 0"},
		"the status is complete": {is: all(entry(asIs), silent, complete), want: "Assigned Serves 0"},
		"of another target":      {is: all(entry(asIs, threadsOf(2)), silent, complete), want: "Arguments Assigned ArgumentsTaken 0 Use -14 Serves 0"},
		"arguments were refused": {is: all(entry(func(e *protocol.Entry) { e.Refused = &protocol.Refused{Value: "x/", Words: "no", Tries: 1} }), answer(func(a *memcached.Answer) { a.Number = 1 })), want: "Assigned Refused Assign"},

		"another image, not yet":      {is: node(image(3)), want: "ImageTaken 1"},
		"another image, does not run": {is: node(image(4), waiting, pullFails), want: "!Ready !Started Stopped ImageTaken 1 Failed Replace: not found"},
		"the image cannot be pulled": {is: node(image(4), pullFails, func(p *corev1.Pod) {
			memcachedOf(p).LastTerminationState.Terminated = &corev1.ContainerStateTerminated{}
		}), want: "!Ready Stopped ImageTaken 1 Failed SetImage: the image " + memcachedtest.DefaultImage + " cannot be pulled: not found"},
		"another image runs":        {is: node(image(4))},
		"for 2 s":                   {is: all(node(image(4)), answer(func(a *memcached.Answer) { a.SecondsInEffect = 2 })), want: "ImageTaken 1"},
		"and nobody knows how long": {is: all(node(image(4)), silent), want: "ImageTaken 0 Serves 0"},
		"a webhook changed it back": {is: node(image(3), func(p *corev1.Pod) { p.Spec.Containers[0].Image = "memcached:former" })},

		"resources, not yet":          {is: node(pending("", 5)), want: "ResourcesTaken 1 AskedLimit 1024 Slow : no room"},
		"resources, no room":          {is: node(pending("Infeasible", 5)), want: "ResourcesTaken 1 AskedLimit 1024 Failed Resize: its cluster node cannot give it other resources: no room"},
		"an older condition":          {is: node(pending("Infeasible", 4)), want: "ResourcesTaken 1 AskedLimit 1024"},
		"resources, no room yet":      {is: node(pending("Deferred", 0)), want: "ResourcesTaken 1 AskedLimit 1024 Slow Deferred: no room"},
		"somebody else's wish":        {is: node(pending("Infeasible", 5), asked(func(a *memcached.Asked) { a.Former = nil })), want: "AskedLimit 1024"},
		"without CPU quotas":          {spec: withLimit(corev1.ResourceCPU, "1"), is: node(resized, func(p *corev1.Pod) { delete(memcachedOf(p).Resources.Limits, corev1.ResourceCPU) })},
		"a kubelet that does not say": {is: node(pending("Infeasible", 5), func(p *corev1.Pod) { memcachedOf(p).Resources = nil }), want: "Limit 1024 AskedLimit 1024"},

		"refused just now":               {is: refused(1, 0), want: "Refused SetImage next 1m0s"},
		"after a minute":                 {is: refused(1, time.Minute), want: "Refused SetImage due"},
		"again, after a minute":          {is: refused(2, time.Minute), want: "Refused SetImage next 4m0s"},
		"again, after five":              {is: refused(2, 5*time.Minute), want: "Refused SetImage due"},
		"the third time":                 {is: refused(3, 29*time.Minute), want: "Refused SetImage next 1m0s"},
		"after half an hour":             {is: refused(3, 30*time.Minute), want: "Refused SetImage due"},
		"the fourth time":                {is: refused(4, time.Hour), want: "Refused SetImage"},
		"two refusals":                   {is: all(node(hasRefused(rollout.SetImage, "old", 1, 0)), entry(func(e *protocol.Entry) { e.Refused = &protocol.Refused{Value: e.Target + "/"} }), answer(func(a *memcached.Answer) { a.Number = 1 })), want: "Assigned Refused Assign next 1m0s"},
		"a volume that is too small now": {spec: all(inFile, inPlace), is: node(func(p *corev1.Pod) { p.Spec.Containers[0].Resources = *memoryOnly("100Mi") }), want: "AskedLimit 100"},
		"a volume in memory":             {spec: all(inFile, inPlace), change: itemMemory("300Mi"), want: "Resources Arguments Refused Resize forever"},
		"a large enough one":             {spec: all(inFile, inPlace), change: itemMemory("150Mi"), want: "Resources Arguments"},
		"of another policy":              {spec: inFile, change: itemMemory("300Mi"), want: "Resources Arguments"},
	} {
		s := newScene(t, 3, all(c.spec))
		_, steady := s.observe(2)
		all(c.is)(s)
		all(c.change)(s.mc)
		f, n := s.observe(2)
		if got := said(f, steady, n); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

// said describes what was observed of a node, and how it differs from a steady node.
func said(f *fleet, steady, n *node) string {
	var words []string
	say := func(is bool, format string, args ...any) {
		if is {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	if n.Pod == rollout.Present {
		say(n.Asked != f.target.Asked, "%s", differences(n.Asked, f.target.Asked))
		for _, fact := range []struct {
			name      string
			is, usual bool
		}{
			{"Served", n.Served, true},
			{"Ready", n.Ready, true},
			{"CutOff", n.CutOff, false},
			{"Started", n.Started, true},
			{"Stopped", n.Stopped, false},
			{"Available", n.Available || !n.Ready, true},
			{"Assigned", n.Assigned, false},
		} {
			say(fact.is && !fact.usual, "%s", fact.name)
			say(!fact.is && fact.usual, "!%s", fact.name)
		}
		say(n.ImageTaken != rollout.Yes, "ImageTaken %d", n.ImageTaken)
		say(n.ResourcesTaken != rollout.Yes, "ResourcesTaken %d", n.ResourcesTaken)
		say(n.ArgumentsTaken != rollout.Yes && n.Assigned, "ArgumentsTaken %d", n.ArgumentsTaken)
		say(n.Limit != steady.Limit, "Limit %d", n.Limit/mebibyte)
		say(n.AskedLimit != steady.AskedLimit, "AskedLimit %d", n.AskedLimit/mebibyte)
		say(n.Use != steady.Use, "Use %+d", (n.Use-steady.Use)/mebibyte)
		say(n.Failed.Action != rollout.Nothing, "Failed %s: %s", n.Failed.Action, n.Failed.Words)
		say(n.Serves != rollout.Yes, "Serves %d", n.Serves)
		say(n.Silent != "", "Silent %s", n.Silent)
		say(n.Refused.Action != rollout.Nothing, "Refused %s", n.Refused.Action)
		say(n.Refused.Due, "due")
		say(n.Refused.Forever, "forever")
		say(n.entry != nil && n.entry.Number > 1, "restored %d", f.entries["cache-2"].Number)
	} else {
		say(true, "%s", map[rollout.Presence]string{rollout.Absent: "Absent"}[n.Pod]+string(n.Pod))
	}
	say(n.Slow != "", "Slow %s", n.Slow)
	say(f.next > 0, "next %s", f.next)
	return strings.Join(words, " ")
}

// TestACacheNamedProxies covers a cache whose name could be taken for a word about proxies: in the middle of its rollout, the last status
// does not say that a node has its arguments.
func TestACacheNamedProxies(t *testing.T) {
	s := newScene(t, 3, func(mc *cachev1alpha1.Memcached) { mc.Name = "proxies" })
	s.mc.Spec.Config.Threads = 8
	plan := For(s.view(), memcachedtest.Options)
	if !strings.Contains(plan.Rollout.Message(), "; proxies-2 gets other arguments") {
		t.Fatal(plan.Rollout.Message())
	}
	s.mc.Status.Conditions = []metav1.Condition{{
		Type: cachev1alpha1.ConditionProgressing, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonRollingOut,
		ObservedGeneration: s.mc.Generation, Message: plan.Rollout.Message(),
	}}
	s.enter(2, func(*protocol.Entry) {})
	delete(s.answers, s.pods[2].UID)
	if _, n := s.observe(2); n.ArgumentsTaken != rollout.Unknown {
		t.Errorf("its parent was not asked: %d", n.ArgumentsTaken)
	}
}
