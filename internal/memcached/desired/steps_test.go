// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
	"github.com/example/memcached-operator/internal/render"
	"github.com/example/memcached-operator/internal/rollout"
)

const mine = "memcached:mine"

// short describes what a plan changes.
func (s *scene) short(plan memcached.Plan) string {
	var words []string
	say := func(is bool, format string, args ...any) {
		if is {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	for _, step := range plan.Steps {
		say(true, "%s:%s", step.Pod.Name[len("cache-"):], step.Action)
		say(step.Image != "", "image %s", step.Image)
		say(step.Resources != nil, "limit %s", limitOf(step.Resources))
		if step.Asked != nil {
			was, _ := memcached.AskedOf(step.Pod.Annotations)
			say(was.Asked != step.Asked.Asked, "asked %s", differences(was.Asked, step.Asked.Asked))
			if former := step.Asked.Former; former != nil {
				say(former.PodImage != "", "former %s %s %d", former.Image, former.PodImage, former.Restarts)
				say(former.Resources != "", "former resources")
			}
			refused := step.Asked.Refused
			say(refused != nil, "refused")
			say(refused != nil && refused.Tries > 0, "%d", ptr.Deref(refused, memcached.RefusedStep{}).Tries)
		}
		say(step.Revision != "", "label")
		say(step.Wake != "", "wake %s", step.Wake)
	}
	entries, before := s.after(plan).Entries(), s.view().Entries()
	for ordinal := range int(s.mc.Spec.Size) {
		entry, found := entries[ordinal]
		_, existed := before[ordinal]
		say(existed && !found, "-entry %d", ordinal)
		if found && entry.String() != before[ordinal].String() {
			say(true, "entry %d #%d -t %s", ordinal, entry.Number, entry.Value("-t"))
			say(entry.Former != nil, "former -t %s", ptr.Deref(entry.Former, protocol.List{}).Value("-t"))
			say(entry.Refused != nil, "refused %d", ptr.Deref(entry.Refused, protocol.Refused{}).Tries)
		}
	}
	for _, pod := range plan.Ask {
		say(true, "ask %s", pod.Name)
	}
	say(s.writes(plan), "template")
	say(plan.Problem != nil, "Problem")
	say(plan.Older > 0, "%d older", plan.Older)
	return strings.Join(words, " ")
}

func limitOf(resources *corev1.ResourceRequirements) string {
	if resources == nil {
		return ""
	}
	return resources.Limits.Memory().String()
}

// after returns the view with the ConfigMap of a plan.
func (s *scene) after(plan memcached.Plan) memcached.View {
	var config *corev1.ConfigMap
	for _, object := range plan.Objects {
		if found, ok := object.(*corev1.ConfigMap); ok && found.Name == "cache-arguments" {
			config = found.DeepCopy()
			config.OwnerReferences = []metav1.OwnerReference{memcachedtest.Controller("Memcached", s.mc.Name, s.mc.UID)}
		}
	}
	return memcachedtest.View(s.mc, memcached.Observed{Children: memcachedtest.Children(config)})
}

// writes reports whether a plan changes the pod template.
func (s *scene) writes(plan memcached.Plan) bool {
	return render.Hash(memcached.PodTemplate(plan.Workload())) != render.Hash(s.set.Spec.Template)
}

// TestSteps covers what the plan does to nodes that differ from the spec. The spec changes first.
func TestSteps(t *testing.T) {
	pod := func(ordinal int, changes ...func(*corev1.Pod)) func(*scene) {
		return func(s *scene) {
			for _, change := range changes {
				change(&s.pods[ordinal])
			}
		}
	}
	asked := func(change func(*memcached.Asked)) func(*corev1.Pod) { return func(p *corev1.Pod) { ask(p, change) } }
	// hasImage lets a pod be asked for the image that the spec asks for. The former one had not restarted.
	hasImage := func(p *corev1.Pod) {
		p.Spec.Containers[0].Image = mine
		ask(p, func(a *memcached.Asked) {
			a.Image, a.Former = mine, &memcached.FormerPod{PodImage: memcachedtest.DefaultImage}
		})
	}
	ended := func(p *corev1.Pod) {
		memcachedOf(p).LastTerminationState.Terminated = &corev1.ContainerStateTerminated{}
	}
	limited := withLimit(corev1.ResourceMemory, "1Gi")
	hasLimit := func(s *scene) {
		target := targetOf(s.view())
		for i := range s.pods {
			s.pods[i].Spec.Containers[0].Resources = *memoryOnly("1Gi")
			ask(&s.pods[i], func(a *memcached.Asked) {
				a.Former = &memcached.FormerPod{Resources: a.Resources, DefaultLimit: a.DefaultLimit}
				a.Resources, a.DefaultLimit = target.Resources, 0
			})
		}
	}
	former := func(s *scene, e *protocol.Entry) { e.Former = ptr.To(memcached.FirstList(&s.pods[2])) }
	refusedEntry := func(s *scene) {
		answer := s.answers[s.pods[2].UID]
		answer.Refused = &protocol.Refusal{Number: 4, Reason: "exit 1"}
		s.answers[s.pods[2].UID] = answer
		s.enter(2, func(e *protocol.Entry) { e.Number = 4; former(s, e) })
	}
	nobody := func(s *scene) { s.answers = nil }
	lost := func(p *corev1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(sceneTime.Add(-time.Hour))), ptr.To[int64](35)
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager"})
	}
	for name, c := range map[string]struct {
		spec   []edit
		change edit
		is     []func(*scene)
		want   string
	}{
		"nothing":           {},
		"a template":        {change: teamLabel, want: "template"},
		"which the set has": {change: teamLabel, is: []func(*scene){(*scene).write}, want: "2:Replace"},
		"but not observed":  {change: teamLabel, is: []func(*scene){(*scene).write, func(s *scene) { s.set.Generation++ }}},
		"paused":            {change: teamLabel, is: []func(*scene){(*scene).write, func(s *scene) { s.mc.Spec.Paused = true }}},
		"being deleted":     {change: teamLabel, is: []func(*scene){(*scene).write, func(s *scene) { s.mc.DeletionTimestamp = &metav1.Time{} }}},
		"a problem":         {change: withLimit(corev1.ResourceMemory, "100Mi"), is: []func(*scene){func(s *scene) { hasImage(&s.pods[1]) }}, want: "Problem"},
		"Recreate":          {change: memcachedtest.Image(mine), is: []func(*scene){(*scene).write}, want: "2:Replace"},
		"arguments":         {change: threadsOf(2), want: "entry 2 #1 -t 2 former -t 4"},
		"in place":          {spec: []edit{inPlace}, change: threadsOf(2), want: "2: wake 1 entry 2 #1 -t 2 former -t 4"},
		"arguments once more": {change: threadsOf(2), is: []func(*scene){func(s *scene) {
			s.answer(&s.pods[2], s.enter(2, func(e *protocol.Entry) { e.Number = 4 }, threadsOf(3)))
		}}, want: "entry 2 #5 -t 2 former -t 3"},
		"before they were used": {change: threadsOf(2), is: []func(*scene){func(s *scene) { s.enter(2, func(e *protocol.Entry) { e.Number = 4; former(s, e) }, threadsOf(3)) }}, want: "entry 2 #5 -t 2 former -t 4"},
		"an entry of a backup": {change: threadsOf(2), is: []func(*scene){func(s *scene) {
			s.enter(2, func(*protocol.Entry) {}, threadsOf(3))
			s.answer(&s.pods[2], protocol.Entry{Number: 6})
		}}, want: "entry 2 #7 -t 2"},
		"nobody was asked":        {change: threadsOf(2), is: []func(*scene){nobody}, want: "ask cache-2 ask cache-1 ask cache-0"},
		"at rest, without answer": {is: []func(*scene){nobody}},
		"entries of former pods":  {is: []func(*scene){func(s *scene) { s.enter(1, func(e *protocol.Entry) { e.Pod = "former" }) }}, want: "-entry 1"},
		"but not of missing ones": {is: []func(*scene){func(s *scene) { s.enter(2, func(e *protocol.Entry) { e.Pod = "former" }); s.pods = s.pods[:2] }}},
		"refused arguments":       {change: threadsOf(2), is: []func(*scene){refusedEntry}, want: "entry 2 #5 -t 4 refused 1"},
		"of another spec": {is: []func(*scene){func(s *scene) {
			s.answer(&s.pods[2], s.enter(2, func(e *protocol.Entry) { e.Refused = &protocol.Refused{Value: "x/", Tries: 1} }))
		}}, want: "entry 2 #1 -t 4"},

		"an image":                 {spec: []edit{inPlace}, change: memcachedtest.Image(mine), want: "2:SetImage image memcached:mine asked Image former  " + memcachedtest.DefaultImage + " 0"},
		"which the pod has anyway": {spec: []edit{inPlace, memcachedtest.Image(mine)}, change: memcachedtest.Image(memcachedtest.DefaultImage), is: []func(*scene){pod(2, func(p *corev1.Pod) { p.Spec.Containers[0].Image = memcachedtest.DefaultImage })}, want: "1:SetImage image " + memcachedtest.DefaultImage + " asked Image former memcached:mine memcached:mine 0 template"},
		"of the operator":          {spec: []edit{inPlace, memcachedtest.Image(mine)}, change: memcachedtest.Image(""), is: []func(*scene){pod(2, func(p *corev1.Pod) { p.Spec.Containers[0].Image = memcachedtest.DefaultImage })}, want: "2:SetImage asked Image"},
		"that cannot be pulled":    {spec: []edit{inPlace}, change: memcachedtest.Image(mine), is: []func(*scene){pod(2, hasImage, ended, pullFails)}, want: "2:GoBack image " + memcachedtest.DefaultImage + " asked Image refused 1"},
		"for the second time": {spec: []edit{inPlace}, change: memcachedtest.Image(mine), is: []func(*scene){pod(2, hasImage, ended, pullFails, asked(func(a *memcached.Asked) {
			a.Refused = &memcached.RefusedStep{Action: rollout.SetImage, Refused: protocol.Refused{Value: mine, Tries: 1}}
		}))}, want: "2:GoBack image " + memcachedtest.DefaultImage + " asked Image refused 2"},
		"a record of another spec": {spec: []edit{inPlace}, is: []func(*scene){pod(2, asked(func(a *memcached.Asked) {
			a.Refused = &memcached.RefusedStep{Action: rollout.SetImage, Refused: protocol.Refused{Value: "old"}}
		}))}, want: "2:GoBack"},
		"a record, and a failure that is not the target's": {spec: []edit{inPlace}, change: memcachedtest.Image("third"), is: []func(*scene){pod(2, hasImage, ended, pullFails, asked(func(a *memcached.Asked) {
			a.Refused = &memcached.RefusedStep{Action: rollout.SetImage, Refused: protocol.Refused{Value: "old"}}
		}))}, want: "2:GoBack former  " + memcachedtest.DefaultImage + " 0"},
		"a third image": {spec: []edit{inPlace}, change: memcachedtest.Image("third"), is: []func(*scene){pod(2, hasImage, ended, pullFails)}, want: "2:SetImage image third asked Image former  " + memcachedtest.DefaultImage + " -1"},
		"the first image again, before anybody saw the other": {spec: []edit{inPlace}, is: []func(*scene){pod(2, hasImage)}, want: "2:SetImage image " + memcachedtest.DefaultImage + " asked Image"},
		"the first image again, while the other begins":       {spec: []edit{inPlace}, is: []func(*scene){pod(2, hasImage, ended, pullFails)}, want: "2:SetImage image " + memcachedtest.DefaultImage + " asked Image former memcached:mine memcached:mine -1"},
		"the first image again, after the other":              {spec: []edit{inPlace}, is: []func(*scene){pod(2, hasImage, func(p *corev1.Pod) { memcachedOf(p).RestartCount = 1 })}, want: "2:SetImage image " + memcachedtest.DefaultImage + " asked Image former memcached:mine memcached:mine 1"},

		"resources": {spec: []edit{inPlace}, change: limited, want: "2:Resize limit 1Gi asked Resources former resources"},
		"memory":    {spec: []edit{inPlace}, change: itemMemory("128Mi"), want: "2:Resize limit 272Mi asked Resources former resources"},
		"no room": {spec: []edit{inPlace}, change: limited, is: []func(*scene){hasLimit, pod(2, func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Reason: "Infeasible"})
		})}, want: "2:GoBack asked Resources refused 1"},
		"no room, the next patch": {spec: []edit{inPlace}, change: limited, is: []func(*scene){func(s *scene) {
			s.pods[2].Spec.Containers[0].Resources = *memoryOnly("1Gi")
			ask(&s.pods[2], func(a *memcached.Asked) {
				a.Refused = &memcached.RefusedStep{Action: rollout.Resize, Refused: protocol.Refused{Value: targetOf(s.view()).Resources, Tries: 1, At: sceneTime}}
			})
		}}, want: "2:GoBack limit 202Mi"},
		"done": {spec: []edit{inPlace}, change: limited, is: []func(*scene){(*scene).write, hasLimit, func(s *scene) {
			for i := range s.pods {
				memcachedOf(&s.pods[i]).Resources = memoryOnly("1Gi")
			}
		}}, want: "0: label 1: label 2: label"},
		"wakes a kubelet": {spec: []edit{inPlace}, change: threadsOf(2), is: []func(*scene){func(s *scene) { s.enter(2, func(*protocol.Entry) {}) }}, want: "2: wake 1"},
		"once": {spec: []edit{inPlace}, change: threadsOf(2), is: []func(*scene){func(s *scene) {
			s.enter(2, func(*protocol.Entry) {})
			s.pods[2].Annotations[memcached.WakeAnnotation] = "1"
		}}},
		"never without the right": {change: threadsOf(2), is: []func(*scene){func(s *scene) { s.enter(2, func(*protocol.Entry) {}) }}},
		"a volume too small":      {spec: []edit{inFile, inPlace}, change: itemMemory("300Mi"), is: []func(*scene){(*scene).write}, want: "2:Replace"},
		"a lost pod":              {is: []func(*scene){pod(1, lost)}, want: "1:ForceDelete"},
		"of a larger size":        {change: memcachedtest.Size(2), is: []func(*scene){pod(2, lost)}, want: "2:ForceDelete"},
		"while paused":            {change: memcachedtest.Paused, is: []func(*scene){pod(1, lost)}},
		"two lost, one too many":  {change: memcachedtest.Size(1), is: []func(*scene){pod(1, lost), pod(2, lost)}, want: "1:ForceDelete 2:ForceDelete"},
		"an older helper":         {is: []func(*scene){pod(0, asked(func(a *memcached.Asked) { a.Rendering = "older" }))}, want: "1 older"},
		"an older image":          {is: []func(*scene){pod(0, asked(func(a *memcached.Asked) { a.DefaultImage = "older" }))}, want: "1 older"},
		"an older, low limit":     {is: []func(*scene){pod(0, asked(func(a *memcached.Asked) { a.DefaultLimit = 1 }))}, want: "1 older"},
		"an older, higher limit":  {is: []func(*scene){pod(0, asked(func(a *memcached.Asked) { a.DefaultLimit = 1 << 40 }))}},
		"a named default image":   {change: memcachedtest.Image(memcachedtest.DefaultImage), want: "template"},
	} {
		s := newScene(t, 3, c.spec...)
		if c.change != nil {
			c.change(s.mc)
		}
		for _, change := range c.is {
			change(s)
		}
		if got := s.short(For(s.view(), memcachedtest.Options)); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

// TestNewerOperator checks that an operator with another default image, another helper and another sizing changes nothing in living nodes.
func TestNewerOperator(t *testing.T) {
	newer := memcached.Options{DefaultImage: "docker.io/library/memcached:1.7.0", AgentImage: "example.com/memcached-operator-agent:v2.0.0"}
	for _, c := range goldenCases(t) {
		for _, policy := range []cachev1alpha1.PodUpdatePolicy{cachev1alpha1.PodUpdateRecreate, cachev1alpha1.PodUpdateInPlaceOrRecreate} {
			if !memcached.IsStatefulSet(c.mc) {
				continue
			}
			spec := c.mc.Spec.DeepCopy()
			spec.UpdateStrategy.PodUpdatePolicy = policy
			s := newScene(t, spec.Size, func(mc *cachev1alpha1.Memcached) { mc.Spec = *spec })
			for i := range s.pods {
				ask(&s.pods[i], func(a *memcached.Asked) { a.DefaultLimit-- })
			}
			if plan := For(s.view(), newer); len(plan.Steps) > 0 || plan.Arguments || plan.Rollout.Done != int(spec.Size) || plan.Older != int(spec.Size) ||
				plan.Effect != memcached.NoEffect || len(plan.Ask) > 0 {
				t.Errorf("%s, %s: %s, and %+v", c.name, policy, s.short(plan), plan.Rollout)
			}
		}
	}
}

// TestEffect covers what a change does to the nodes that it concerns.
func TestEffect(t *testing.T) {
	both := func(changes ...edit) edit {
		return func(mc *cachev1alpha1.Memcached) {
			for _, change := range changes {
				change(mc)
			}
		}
	}
	for name, c := range map[string]struct {
		spec   []edit
		change edit
		want   memcached.Effect
	}{
		"nothing":                {nil, memcachedtest.Size(3), memcached.NoEffect},
		"a template":             {nil, teamLabel, memcached.ReplacesPod},
		"an image":               {nil, memcachedtest.Image(mine), memcached.ReplacesPod},
		"in place":               {[]edit{inPlace}, memcachedtest.Image(mine), memcached.LosesItems},
		"in place, with a file":  {[]edit{inPlace, inFile}, memcachedtest.Image(mine), memcached.KeepsItemsOfVersion},
		"with other arguments":   {[]edit{inPlace, inFile}, both(memcachedtest.Image(mine), itemMemory("150Mi")), memcached.LosesItems},
		"resources in place":     {[]edit{inPlace}, withLimit(corev1.ResourceMemory, "1Gi"), memcached.KeepsPod},
		"memory with a limit":    {[]edit{withLimit(corev1.ResourceMemory, "1Gi")}, itemMemory("128Mi"), memcached.GrowsInPlace},
		"memory without a limit": {nil, itemMemory("128Mi"), memcached.ReplacesPod},
		"memory in place":        {[]edit{inPlace}, itemMemory("128Mi"), memcached.KeepsPod},
		"threads and a file":     {[]edit{inFile}, threadsOf(2), memcached.KeepsItems},
		"too many connections":   {[]edit{inFile}, connections(9000), memcached.ReplacesPod},
	} {
		s := newScene(t, 3, c.spec...)
		c.change(s.mc)
		if got := For(s.view(), memcachedtest.Options).Effect; got != c.want {
			t.Errorf("%s: %d, not %d", name, got, c.want)
		}
		s.pods = nil
		if got := For(s.view(), memcachedtest.Options).Effect; got != memcached.NoEffect {
			t.Errorf("%s: missing nodes lose nothing: %d", name, got)
		}
	}
}

// TestRefusals covers what a user reads about a refusal, until the spec changes.
func TestRefusals(t *testing.T) {
	for want, refuse := range map[string]func(*scene){
		cachev1alpha1.ReasonImagePullFailed + ": Pod cache-1 was not changed in place: not found. It has its former image and resources, and the other pods are left as they are. The operator tries again after 1, 5 and 30 minutes; this was try 2. Correct the spec, or wait": func(s *scene) {
			ask(&s.pods[1], func(a *memcached.Asked) {
				a.Refused = &memcached.RefusedStep{Action: rollout.SetImage, Refused: protocol.Refused{Value: mine, Words: "not found.", Tries: 2, At: sceneTime}}
			})
		},
		cachev1alpha1.ReasonConfigurationRefused + ": the node cache-1 has refused the configuration and keeps its former one: exit 1; change spec.config": func(s *scene) {
			s.enter(1, func(e *protocol.Entry) {
				e.Refused = &protocol.Refused{Value: targetOf(s.view()).Value(rollout.Assign), Words: "exit 1", Tries: 1}
			}, threadsOf(4))
		},
	} {
		s := newScene(t, 3, inPlace)
		memcachedtest.Image(mine)(s.mc)
		threadsOf(2)(s.mc)
		refuse(s)
		problem := For(s.view(), memcachedtest.Options).Refused
		if problem == nil || problem.Reason+": "+problem.Message != want {
			t.Errorf("%+v, not %s", problem, want)
		}
		memcachedtest.Image("third")(s.mc)
		threadsOf(3)(s.mc)
		if problem := For(s.view(), memcachedtest.Options).Refused; problem != nil {
			t.Errorf("of another spec: %+v", problem)
		}
	}
}

// write writes the template that the spec asks for, even if it is not its time yet.
func (s *scene) write() {
	template := askedTemplate(s.mc, memcachedtest.Options, targetOf(s.view()))
	s.set.Spec.Template = render.WithAPIDefaults(*template.DeepCopy())
	s.set.Status.UpdateRevision = render.Hash(s.set.Spec.Template)
}

// turn carries out a plan. Then kubelets and launchers do their part, and the StatefulSet's controller creates missing pods.
func (s *scene) turn(bad string) memcached.Plan {
	view := s.view()
	plan := For(view, memcachedtest.Options)
	s.set.Spec = *plan.Workload().(*appsv1.StatefulSet).Spec.DeepCopy()
	s.set.Status.UpdateRevision = render.Hash(s.set.Spec.Template)
	s.config = s.after(plan).ArgumentsObject()
	for _, step := range plan.Steps {
		ordinal, _ := memcached.Ordinal(step.Pod)
		pod := &s.pods[ordinal]
		if step.Action == rollout.Replace {
			pod.Name = ""
			continue
		}
		if step.Asked != nil {
			pod.Annotations[memcached.AskedAnnotation] = step.Asked.Annotation()
		}
		if step.Revision != "" {
			pod.Labels[appsv1.ControllerRevisionHashLabelKey] = step.Revision
		}
		if step.Wake != "" {
			pod.Annotations[memcached.WakeAnnotation] = step.Wake
		}
		if step.Resources != nil {
			pod.Spec.Containers[0].Resources, memcachedOf(pod).Resources = *step.Resources, step.Resources
		}
		if step.Image != "" {
			pod.Spec.Containers[0].Image = step.Image
			memcachedOf(pod).RestartCount++
			memcachedOf(pod).LastTerminationState.Terminated = &corev1.ContainerStateTerminated{}
			memcachedOf(pod).State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
			pod.Status.Conditions[0].Status, pod.Status.Conditions[1].Status = corev1.ConditionTrue, corev1.ConditionTrue
			if step.Image == bad {
				pullFails(pod)
			}
		}
	}
	for ordinal, entry := range s.view().Entries() {
		if pod := &s.pods[ordinal]; pod.Name != "" && entry.Pod == string(pod.UID) {
			s.answer(pod, entry)
		}
	}
	return plan
}

// TestABadImageAndAnEviction evicts a pod in the middle of a change of memory and image, while the new image cannot be pulled. The new pod
// starts as its neighbours did. No other pod goes, never more than one node is away, and the corrected spec needs no hand.
func TestABadImageAndAnEviction(t *testing.T) {
	for moment := range 12 {
		for evicted := range 3 {
			s := newScene(t, 3, inPlace, inFile, withLimit(corev1.ResourceMemory, "512Mi"))
			withLimit(corev1.ResourceMemory, "768Mi")(s.mc)
			itemMemory("256Mi")(s.mc)
			memcachedtest.Image("memcached:bad")(s.mc)
			var log []string
			turn := func(away int) {
				plan := s.turn("memcached:bad")
				log = append(log, s.short(plan)+" "+string(plan.Rollout.Waits))
				for i := range s.pods {
					if s.pods[i].Name == "" || !memcached.PodReady(&s.pods[i]) {
						away--
					}
				}
				if image := s.set.Spec.Template.Spec.Containers[0].Image; away < 0 || image == "memcached:bad" {
					t.Fatalf("eviction of %d at %d: too many are away, or new pods would have the image %s:\n%s", evicted, moment, image, strings.Join(log, "\n"))
				}
			}
			for range moment {
				turn(1)
			}
			s.pods[evicted].Name = ""
			turn(max(1, away(s))) // the eviction is not the operator's
			s.replace(evicted)
			for range 12 {
				turn(1)
			}
			if plan := For(s.view(), memcachedtest.Options); plan.Refused == nil || plan.Rollout.Waits == rollout.NoWait {
				t.Errorf("eviction of %d at %d: nobody hears of it: %+v\n%s", evicted, moment, plan.Rollout, strings.Join(log, "\n"))
			}
			memcachedtest.Image("memcached:good")(s.mc)
			for range 20 {
				turn(1)
			}
			plan := For(s.view(), memcachedtest.Options)
			if plan.Rollout.Done != 3 || len(plan.Steps) > 0 || s.made != 4 {
				t.Errorf("eviction of %d at %d: %d pods were made, and it ends with %+v:\n%s", evicted, moment, s.made, plan.Rollout, strings.Join(log, "\n"))
			}
		}
	}
}

func away(s *scene) (count int) {
	for i := range s.pods {
		if s.pods[i].Name == "" || !memcached.PodReady(&s.pods[i]) {
			count++
		}
	}
	return count
}
