// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
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
		if step.Resources != nil {
			say(true, "limit %s", step.Resources.Limits.Memory())
		}
		if step.Asked != nil {
			was, _ := memcached.AskedOf(step.Pod.Annotations)
			say(was.Asked != step.Asked.Asked, "asked %s", differences(was.Asked, step.Asked.Asked))
			say(was.DefaultLimit != step.Asked.DefaultLimit, "default %d", step.Asked.DefaultLimit/mebibyte)
			former, refused := ptr.Deref(step.Asked.Former, memcached.FormerPod{}), step.Asked.Refused
			say(former.PodImage != "", "former %q %s %d", former.Image, former.PodImage, former.Restarts)
			say(former.Resources != "", "former resources %d", former.DefaultLimit/mebibyte)
			say(refused != nil, "refused %d", ptr.Deref(refused, memcached.RefusedStep{}).Tries)
		}
		say(step.Revision != "", "label")
		say(step.Entry != "", "%s", step.Entry)
	}
	entries, before := s.after(plan).Entries(), s.view().Entries()
	for ordinal := range int(s.mc.Spec.Size) {
		name := fmt.Sprintf("cache-%d", ordinal)
		entry, found := entries[name]
		say(!found && before[name].Pod != "", "-entry %d", ordinal)
		if found && entry.String() != before[name].String() {
			say(true, "entry %d #%d -t %s", ordinal, entry.Number, entry.Value("-t"))
			say(entry.Former != nil, "former -t %s", ptr.Deref(entry.Former, protocol.List{}).Value("-t"))
			say(entry.Refused != nil, "refused %d", ptr.Deref(entry.Refused, protocol.Refused{}).Tries)
		}
	}
	for _, pod := range plan.Ask {
		say(true, "ask %s", pod.Name)
	}
	say(hashOf(memcached.PodTemplate(plan.Workload())) != hashOf(s.set.Spec.Template), "template")
	say(plan.Problem != nil, "Problem")
	say(plan.Older > 0, "%d older", plan.Older)
	return strings.Join(words, " ")
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

// TestSteps covers what the plan does to nodes that differ from the spec. The spec changes first.
func TestSteps(t *testing.T) {
	// hasImage lets a pod be asked for another image, which its kubelet has not seen.
	hasImage := all(asked(func(a *memcached.Asked) {
		a.Image, a.Former = mine, &memcached.FormerPod{PodImage: memcachedtest.DefaultImage}
	}), func(p *corev1.Pod) { p.Spec.Containers[0].Image = mine })
	cannot := all(hasImage, hasRun, pullFails)
	limited := withLimit(corev1.ResourceMemory, "1Gi")
	// hasLimit lets pods be asked for this limit.
	hasLimit := func(s *scene, from int) {
		mc := s.mc.DeepCopy()
		limited(mc)
		target := targetOf(memcachedtest.View(mc, memcached.Observed{}))
		for i := range s.pods[from:] {
			all(asked(func(a *memcached.Asked) {
				a.Former = &memcached.FormerPod{Resources: a.Resources, DefaultLimit: a.DefaultLimit}
				a.Resources, a.DefaultLimit = target.Resources, 0
			}), func(p *corev1.Pod) { p.Spec.Containers[0].Resources = *memoryOnly("1Gi") })(&s.pods[from+i])
		}
	}
	takesLimit := func(s *scene) {
		hasLimit(s, 0)
		for i := range s.pods {
			memcachedOf(&s.pods[i]).Resources = memoryOnly("1Gi")
		}
	}
	lastHasLimit := func(s *scene) { hasLimit(s, 2) }
	// unsent lets the last pod be asked for the limit, but its resize was not sent.
	unsent := func(s *scene) {
		has := s.pods[2].Spec.Containers[0].Resources
		hasLimit(s, 2)
		s.pods[2].Spec.Containers[0].Resources = has
		asked(func(a *memcached.Asked) { a.Former.PodResources = hashOf(has) })(&s.pods[2])
	}
	pending := func(reason string) func(*scene) {
		return pod(2, func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Reason: reason, Message: "no room"})
		})
	}
	noRoom := pending("Infeasible")
	// keepsLimit lets the last pod have refused a limit, which is still in its spec.
	keepsLimit := func(value string, kept bool) func(*scene) {
		return pod(2, hasRefused(rollout.Resize, value, 1, 0), asked(func(a *memcached.Asked) { a.Refused.Kept = kept }),
			func(p *corev1.Pod) { p.Spec.Containers[0].Resources = *memoryOnly("1Gi") })
	}
	// cannotStart lets the containers of all pods wait with this reason since their creation.
	cannotStart := func(reason string) func(*scene) {
		return func(s *scene) {
			for i := range s.pods {
				pullFails(&s.pods[i])
				memcachedOf(&s.pods[i]).State.Waiting.Reason = reason
			}
		}
	}
	foreign := func(s *scene) { s.set.Spec.Template.Spec.HostNetwork = true }
	entry := func(number int64, change func(*scene, *protocol.Entry), spec ...edit) func(*scene) {
		return func(s *scene) { s.enter(2, func(e *protocol.Entry) { e.Number = number; change(s, e) }, spec...) }
	}
	former := func(s *scene, e *protocol.Entry) { e.Former = ptr.To(memcached.FirstList(&s.pods[2])) }
	inUse := func(s *scene, e *protocol.Entry) { s.answer(&s.pods[2], *e) }
	nothing := func(*scene, *protocol.Entry) {}
	set, write := memcachedtest.Image, (*scene).write
	missing := func(s *scene) {
		s.pods, s.absent = s.pods[:2], map[string]time.Time{"cache-2": sceneTime.Add(-time.Minute)}
	}
	recreate := func(mc *cachev1alpha1.Memcached) {
		mc.Spec.UpdateStrategy.PodUpdatePolicy = cachev1alpha1.PodUpdateRecreate
	}
	older := func(change func(*memcached.Asked)) func(*scene) { return pod(0, asked(change)) }
	const back = "image " + memcachedtest.DefaultImage + " asked Image"
	for name, c := range map[string]struct {
		spec, change edit
		is           func(*scene)
		want         string
	}{
		"nothing":                 {},
		"a template":              {nil, teamLabel, nil, "template"},
		"which the set has":       {nil, teamLabel, write, "2:Replace"},
		"but not observed":        {nil, teamLabel, all(write, func(s *scene) { s.set.Generation++ }), ""},
		"paused":                  {nil, all(teamLabel, memcachedtest.Paused), all(write, pod(1, evicted(time.Hour))), ""},
		"paused, too many":        {nil, all(memcachedtest.Size(1), memcachedtest.Paused), pod(2, evicted(time.Hour)), ""},
		"paused, in place":        {inPlace, all(threadsOf(2), memcachedtest.Paused), entry(1, nothing), ""},
		"being deleted":           {nil, all(teamLabel, func(mc *cachev1alpha1.Memcached) { mc.DeletionTimestamp = &metav1.Time{} }), write, ""},
		"a problem":               {inPlace, all(withLimit(corev1.ResourceMemory, "100Mi"), threadsOf(2)), pod(1, hasImage), "Problem"},
		"Recreate":                {nil, set(mine), write, "2:Replace"},
		"arguments":               {nil, threadsOf(2), nil, "entry 2 #1 -t 2 former -t 4"},
		"in place":                {inPlace, threadsOf(2), nil, "2:Wake 1 entry 2 #1 -t 2 former -t 4"},
		"arguments once more":     {nil, threadsOf(2), entry(4, inUse, threadsOf(3)), "entry 2 #5 -t 2 former -t 3"},
		"before they were used":   {nil, threadsOf(2), entry(4, former, threadsOf(3)), "entry 2 #5 -t 2 former -t 4"},
		"an entry of a backup":    {nil, threadsOf(2), all(entry(1, nothing, threadsOf(3)), answers(2, func(a *memcached.Answer) { a.Number = 6 })), "entry 2 #7 -t 2"},
		"refused after a backup":  {nil, threadsOf(2), all(entry(1, nothing, threadsOf(3)), answers(2, func(a *memcached.Answer) { a.Refused = &protocol.Refusal{Number: 8} })), "entry 2 #9 -t 2"},
		"nobody was asked":        {nil, threadsOf(2), func(s *scene) { s.answers = nil }, "ask cache-2 ask cache-1 ask cache-0"},
		"at rest, without answer": {nil, nil, func(s *scene) { s.answers = nil }, ""},
		"entries of former pods":  {nil, nil, entry(1, func(_ *scene, e *protocol.Entry) { e.Pod = "former" }), "-entry 2"},
		"but not of missing ones": {nil, nil, all(entry(1, nothing), func(s *scene) { s.pods = s.pods[:2] }), ""},
		"refused arguments":       {nil, threadsOf(2), all(entry(4, former), answers(2, func(a *memcached.Answer) { a.Refused = &protocol.Refusal{Number: 4} })), "entry 2 #5 -t 4 refused 1"},
		"for the second time": {nil, threadsOf(2), all(entry(4, func(s *scene, e *protocol.Entry) {
			e.Refused = &protocol.Refused{Value: targetOf(s.view()).Value(rollout.Assign), Tries: 1}
			former(s, e)
		}), answers(2, func(a *memcached.Answer) { a.Refused = &protocol.Refusal{Number: 4} })), "entry 2 #5 -t 4 refused 2"},
		"of another spec": {nil, nil, entry(1, func(s *scene, e *protocol.Entry) { e.Refused = &protocol.Refused{Value: "x/", Tries: 1}; inUse(s, e) }), "entry 2 #1 -t 4"},

		"whose template others have stamped":            {nil, nil, func(s *scene) { s.set.Spec.Template.Annotations["stamp"] = "1" }, "template"},
		"a pod to which a platform adds":                {inPlace, limited, pod(2, addsStorage), "2:Resize limit 1Gi asked Resources default 0 former resources 202"},
		"whose template others have changed":            {inPlace, set(mine), foreign, `2:SetImage image memcached:mine asked Image former "" ` + memcachedtest.DefaultImage + " 0 template"},
		"while it is paused":                            {inPlace, all(set(mine), memcachedtest.Paused), foreign, "template"},
		"a pod that is missing":                         {inPlace, limited, func(s *scene) { s.pods = s.pods[:2] }, ""},
		"for a minute":                                  {inPlace, limited, missing, "template"},
		"pods that cannot start":                        {inPlace, set(mine), all(write, cannotStart("CreateContainerConfigError")), "2:Replace 1:Replace 0:Replace"},
		"of another helper":                             {nil, nil, all(cannotStart("ErrImagePull"), pod(2, asked(func(a *memcached.Asked) { a.Rendering = "older" }))), "2:Replace"},
		"refused arguments, before they were delivered": {nil, threadsOf(3), all(entry(3, nothing, threadsOf(3)), answers(2, func(a *memcached.Answer) { a.Refused = &protocol.Refusal{Number: 3} })), "entry 2 #4 -t 4 refused 1"},

		"an image":                   {inPlace, set(mine), nil, `2:SetImage image memcached:mine asked Image former "" ` + memcachedtest.DefaultImage + " 0"},
		"which the pod has anyway":   {all(inPlace, set(mine)), set(memcachedtest.DefaultImage), pod(2, func(p *corev1.Pod) { p.Spec.Containers[0].Image = memcachedtest.DefaultImage }), "1:SetImage " + back + ` former "memcached:mine" memcached:mine 0 template`},
		"of the operator":            {all(inPlace, set(mine)), set(""), pod(2, func(p *corev1.Pod) { p.Spec.Containers[0].Image = memcachedtest.DefaultImage }), "2:SetImage asked Image"},
		"that cannot be pulled":      {inPlace, set(mine), pod(2, cannot), "2:GoBack " + back + " refused 1"},
		"a second time":              {inPlace, set(mine), pod(2, cannot, hasRefused(rollout.SetImage, mine, 1, time.Hour)), "2:GoBack " + back + " refused 2"},
		"a record of another spec":   {inPlace, nil, pod(2, hasRefused(rollout.SetImage, "old", 1, 0)), "2:GoBack"},
		"beside a former failure":    {inPlace, set("third"), pod(2, cannot, hasRefused(rollout.SetImage, "old", 1, 0)), `2:GoBack former "" ` + memcachedtest.DefaultImage + " 0"},
		"a third image":              {inPlace, set("third"), pod(2, cannot), `2:SetImage image third asked Image former "" ` + memcachedtest.DefaultImage + " -1"},
		"the first, before a change": {inPlace, nil, pod(2, hasImage), "2:SetImage " + back},
		"the first, during a change": {inPlace, nil, pod(2, cannot), "2:SetImage " + back + ` former "memcached:mine" memcached:mine -1`},
		"the first, after it":        {inPlace, nil, pod(2, hasImage, func(p *corev1.Pod) { memcachedOf(p).RestartCount = 1 }), "2:SetImage " + back + ` former "memcached:mine" memcached:mine 1`},
		"resources meanwhile":        {inPlace, all(limited, set("third")), pod(2, hasImage), `2:Resize limit 1Gi asked Resources default 0 former "" ` + memcachedtest.DefaultImage + " 0 former resources 202"},

		"resources":                    {inPlace, limited, nil, "2:Resize limit 1Gi asked Resources default 0 former resources 202"},
		"memory":                       {inPlace, itemMemory("128Mi"), nil, "2:Resize limit 272Mi asked Resources default 272 former resources 202"},
		"too many connections":         {inPlace, connections(9000), nil, "2:Resize limit 335Mi default 335 former resources 202"},
		"no room":                      {inPlace, limited, all(lastHasLimit, noRoom), "2:GoBack asked Resources default 202 refused 1"},
		"no room, the next patch":      {inPlace, limited, func(s *scene) { keepsLimit(targetOf(s.view()).Resources, false)(s) }, "2:GoBack limit 202Mi"},
		"which the API server keeps":   {inPlace, limited, func(s *scene) { keepsLimit(targetOf(s.view()).Resources, true)(s) }, ""},
		"no room, and the former spec": {inPlace, nil, keepsLimit("other", false), "2:GoBack limit 202Mi"},
		"and it is kept":               {inPlace, nil, keepsLimit("other", true), "2:GoBack"},
		"a resize that was not sent":   {inPlace, limited, unsent, "2:Resize limit 1Gi"},
		"and the former spec":          {inPlace, nil, unsent, "2:Resize asked Resources default 202 former resources 202"},
		"and another policy":           {inPlace, all(limited, recreate), all(unsent, write), "2:Replace"},
		"a resize that takes its time": {inPlace, all(limited, recreate), all(lastHasLimit, pending("Deferred"), write), "2:Replace"},
		"the next try": {inPlace, limited, func(s *scene) {
			hasLimit(s, 2)
			pod(2, hasRefused(rollout.Resize, targetOf(s.view()).Resources, 1, time.Hour))(s)
		}, ""},
		"other resources":         {inPlace, withLimit(corev1.ResourceMemory, "2Gi"), lastHasLimit, "2:Resize limit 2Gi asked Resources former resources 202"},
		"done":                    {inPlace, limited, all(write, takesLimit), "0:Finish label 1:Finish label 2:Finish label"},
		"not observed":            {inPlace, limited, all(write, takesLimit, func(s *scene) { s.set.Generation++ }), ""},
		"wakes a kubelet":         {inPlace, threadsOf(2), entry(1, nothing), "2:Wake 1"},
		"once":                    {inPlace, threadsOf(2), all(entry(1, nothing), pod(2, func(p *corev1.Pod) { p.Annotations[memcached.WakeAnnotation] = "1" })), ""},
		"never without the right": {nil, threadsOf(2), entry(1, nothing), ""},
		"a volume too small":      {all(inFile, inPlace), itemMemory("300Mi"), write, "2:Replace"},
		"a lost pod":              {nil, nil, pod(1, evicted(time.Hour)), "1:ForceDelete"},
		"beside a problem":        {nil, withLimit(corev1.ResourceMemory, "100Mi"), pod(1, evicted(time.Hour)), "1:ForceDelete Problem"},
		"of a larger size":        {nil, memcachedtest.Size(1), all(pod(1, evicted(time.Hour)), pod(2, evicted(time.Hour))), "1:ForceDelete 2:ForceDelete"},
		"an older helper":         {nil, nil, older(func(a *memcached.Asked) { a.Rendering = "older" }), "1 older"},
		"an older image":          {nil, nil, older(func(a *memcached.Asked) { a.DefaultImage = "older" }), "1 older"},
		"an older, low limit":     {nil, nil, older(func(a *memcached.Asked) { a.DefaultLimit = 1 }), "1 older"},
		"an older, higher limit":  {nil, nil, older(func(a *memcached.Asked) { a.DefaultLimit = 1 << 40 }), ""},
		"a named default image":   {nil, set(memcachedtest.DefaultImage), nil, "template"},
	} {
		s := newScene(t, 3, all(c.spec))
		all(c.change)(s.mc)
		all(c.is)(s)
		if got := s.short(For(s.view(), memcachedtest.Options)); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

// TestForgetting covers what agents say of memcacheds that cannot forget what was removed from a Secret: the nodes restart one by one, each
// process once.
func TestForgetting(t *testing.T) {
	for name, test := range map[string]struct {
		storage edit
		effect  memcached.Effect
	}{"in memory": {func(*cachev1alpha1.Memcached) {}, memcached.LosesItems}, "in a file": {inFile, memcached.KeepsItems}} {
		s := newScene(t, 3, test.storage)
		says := func(processes ...int) {
			s.agents = memcached.AgentReports{}
			for i, process := range processes {
				s.agents.Nodes = append(s.agents.Nodes, memcached.AgentReport{Pod: s.pods[i].Name, UID: s.pods[i].UID, Restart: process})
			}
		}
		mustForget := func(wanted ...int) {
			t.Helper()
			plan := For(s.view(), memcachedtest.Options)
			var forget []int
			for name, entry := range s.after(plan).Entries() {
				ordinal := int(name[len(name)-1] - '0')
				forget = append(forget, ordinal, entry.Forget)
				s.enter(ordinal, func(e *protocol.Entry) { e.Number, e.Forget = entry.Number, entry.Forget })
			}
			if diff := cmp.Diff(wanted, forget); diff != "" || plan.Arguments && plan.Effect != test.effect {
				t.Errorf("%s: the effect is %v (-want +got):\n%s", name, plan.Effect, diff)
			}
		}
		says(0, 0, 0)
		mustForget()
		says(0, 17, 17)
		mustForget(2, 17)
		s.answers[s.pods[2].UID] = memcached.Answer{Status: protocol.Status{List: memcached.FirstList(&s.pods[2]), SecondsInEffect: 3600}}
		says(0, 0, 17)
		mustForget(2, 17)
		s.answer(&s.pods[2], s.view().Entries()["cache-2"])
		mustForget(2, 17) // the agent has not been asked since
		says(0, 0, 18)
		mustForget(2, 18)
		s.agents = memcached.AgentReports{Pending: true}
		clear(s.answers)
		s.mc.Status.Conditions = []metav1.Condition{{Type: "Progressing", Status: metav1.ConditionFalse, ObservedGeneration: s.mc.Generation}}
		if _, node := s.observe(2); node.ArgumentsTaken == rollout.Yes {
			t.Error("the next leader believes that a node has forgotten what it was just told to")
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
				asked(func(a *memcached.Asked) { a.DefaultLimit-- })(&s.pods[i])
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
	for name, c := range map[string]struct {
		spec, change edit
		want         memcached.Effect
	}{
		"nothing":                {nil, memcachedtest.Size(3), memcached.NoEffect},
		"a template":             {nil, teamLabel, memcached.ReplacesPod},
		"an image":               {nil, memcachedtest.Image(mine), memcached.ReplacesPod},
		"in place":               {inPlace, memcachedtest.Image(mine), memcached.LosesItems},
		"in place, with a file":  {all(inPlace, inFile), memcachedtest.Image(mine), memcached.KeepsItemsOfVersion},
		"with other arguments":   {all(inPlace, inFile), all(memcachedtest.Image(mine), itemMemory("150Mi")), memcached.LosesItems},
		"resources in place":     {inPlace, withLimit(corev1.ResourceMemory, "1Gi"), memcached.KeepsPod},
		"resources, with a file": {all(inPlace, inFile), withLimit(corev1.ResourceMemory, "1Gi"), memcached.KeepsPod},
		"memory with a limit":    {withLimit(corev1.ResourceMemory, "1Gi"), itemMemory("128Mi"), memcached.GrowsInPlace},
		"memory without a limit": {nil, itemMemory("128Mi"), memcached.ReplacesPod},
		"memory in place":        {inPlace, itemMemory("128Mi"), memcached.KeepsPod},
		"threads and a file":     {inFile, threadsOf(2), memcached.KeepsItems},
		"too many connections":   {inFile, connections(9000), memcached.ReplacesPod},
	} {
		s := newScene(t, 3, all(c.spec))
		c.change(s.mc)
		if got := For(s.view(), memcachedtest.Options).Effect; got != c.want {
			t.Errorf("%s: %d, not %d", name, got, c.want)
		}
		for i := range s.pods { // a webhook makes each change of resources restart memcached
			s.pods[i].Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{RestartPolicy: corev1.RestartContainer}}
		}
		want, plan := c.want, For(s.view(), memcachedtest.Options)
		if want == memcached.KeepsPod {
			want = map[bool]memcached.Effect{true: memcached.KeepsItems, false: memcached.LosesItems}[keepsItems(s.mc)]
		}
		if plan.Effect != want || plan.ResizeRestarts != (want != c.want) {
			t.Errorf("%s, with restarts: %d, not %d", name, plan.Effect, want)
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
		"ImagePullFailed: Pod cache-1 was not changed in place: no. It keeps its former image, and the other pods keep theirs. This was try 2. Correct spec.image, or wait: the operator tries again after 1, 5 and 30 minutes": pod(1, hasRefused(rollout.SetImage, mine, 2, 0)),
		"ChangeRefused: the node cache-1 has refused the configuration and keeps its former one: exit 1; change spec.config": func(s *scene) {
			s.enter(1, func(e *protocol.Entry) {
				e.Refused = &protocol.Refused{Value: targetOf(s.view()).Value(rollout.Assign), Words: "exit 1", Tries: 1}
			}, threadsOf(4))
		},
	} {
		s := newScene(t, 3, inPlace, memcachedtest.Image(mine), threadsOf(2))
		refuse(s)
		if problem := For(s.view(), memcachedtest.Options).Refused; problem == nil || problem.Reason+": "+problem.Message != want {
			t.Errorf("%+v, not %s", problem, want)
		}
		all(memcachedtest.Image("third"), threadsOf(3))(s.mc)
		if problem := For(s.view(), memcachedtest.Options).Refused; problem != nil {
			t.Errorf("of another spec: %+v", problem)
		}
	}
}

// write writes the template that the spec asks for, even if it is not its time yet.
func (s *scene) write() {
	template := askedTemplate(s.mc, 0, memcachedtest.Options, targetOf(s.view()), lastRestarts(s.view()).kubectl)
	s.set.Spec.Template = withAPIDefaults(*template.DeepCopy())
	s.set.Status.UpdateRevision = hashOf(s.set.Spec.Template)
}

// TestHeldTemplate checks that the template of a StatefulSet, while it stays as it is, claims no annotation or label of others.
func TestHeldTemplate(t *testing.T) {
	s := newScene(t, 1)
	s.set.Spec.Template.Annotations[memcached.KubectlRestartedAt] = "2026-01-01T00:00:00Z"
	s.set.Spec.Template.Labels["example.com/foreign"] = "x"
	s.mc.Spec.Paused, s.mc.Spec.Image = true, mine
	held, live := memcached.PodTemplate(For(s.view(), memcachedtest.Options).Workload()), s.set.Spec.Template.DeepCopy()
	delete(live.Annotations, memcached.KubectlRestartedAt)
	delete(live.Labels, "example.com/foreign")
	if diff := cmp.Diff(live, held); diff != "" {
		t.Error(diff)
	}
}
