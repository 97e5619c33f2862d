// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

const (
	olderImage = "docker.io/library/memcached:1.6.40"
	olderAgent = "example.com/memcached-operator-agent:v0.9.0"
	// olderLimit is the limit for 64Mi of item memory in an earlier sizing model. presentLimit is the limit in the current model, and
	// limitWithTLS is the limit in the current model with TLS.
	olderLimit   = "242Mi"
	presentLimit = "198Mi"
	limitWithTLS = "245Mi"
)

// inWorkload returns the wanted image and memory limit. With a StatefulSet, it adds 4Mi for the launcher to a limit that the
// operator computes.
func inWorkload(mc *cachev1alpha1.Memcached, want [2]string) [2]string {
	if limit := want[1]; memcached.IsStatefulSet(mc) && slices.Contains([]string{olderLimit, presentLimit, limitWithTLS}, limit) {
		quantity := resource.MustParse(limit)
		quantity.Add(resource.MustParse("4Mi"))
		want[1] = quantity.String()
	}
	return want
}

// older holds the options of an earlier version of the operator. The current version has memcachedtest.Options.
var older = memcached.Options{DefaultImage: olderImage, AgentImage: olderAgent}

// leftByOlder returns the workload that an earlier operator has left, with another default image and another sizing model.
func leftByOlder(t testing.TB, mc *cachev1alpha1.Memcached, opts memcached.Options) *memcached.Workload {
	t.Helper()
	opts.DefaultImage, opts.AgentImage = olderImage, olderAgent
	workload := liveWorkload(t, mc, opts)
	if recordOf(workload).MemoryLimit != "" {
		limit := workload.Template.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory]
		limit.Add(resource.MustParse("44Mi"))
		record(func(r *memcached.Record) { r.MemoryLimit = limit.String() })(workload)
		setMemory(workload, limit.String())
	}
	if memcached.IsStatefulSet(mc) {
		named, section := launched(podTemplate(mc, opts, recordOf(workload)))
		workload.Template.Annotations[memcached.TemplateAnnotation] = section
		workload.Template.Spec.Containers[0].Args = named.Spec.Containers[0].Args
	}
	return workload
}

func recordOf(workload client.Object) podDefaults {
	return memcached.RecordOf(workload).MemcachedDefaults
}

// record returns a function that changes the record on a workload.
func record(change func(*memcached.Record)) func(*memcached.Workload) {
	return func(workload *memcached.Workload) {
		recorded := memcached.RecordOf(workload)
		change(&recorded)
		maps.Copy(workload.GetAnnotations(), recorded.Annotations())
	}
}

// encode returns a value as JSON.
func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func setMemory(workload *memcached.Workload, quantity string) {
	resources := &workload.Template.Spec.Containers[0].Resources
	resources.Limits[corev1.ResourceMemory] = resource.MustParse(quantity)
	resources.Requests[corev1.ResourceMemory] = resource.MustParse(quantity)
}

// TestUpgradeAloneChangesNothing checks that an upgrade of the operator changes nothing in a workload, so that it causes no write.
func TestUpgradeAloneChangesNothing(t *testing.T) {
	for _, c := range goldenCases(t) {
		t.Run(c.name, func(t *testing.T) {
			before := leftByOlder(t, c.mc, c.opts)
			after := renderedAfter(t, c.mc, before, c.opts)
			if diff := cmp.Diff(before.GetAnnotations(), after.GetAnnotations()); diff != "" {
				t.Errorf("annotations (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(string(encodedSpec(t, before.Object)), string(encodedSpec(t, after))); diff != "" {
				t.Errorf("spec (-before +after):\n%s", diff)
			}
		})
	}
}

// TestUpgradeThenChange covers changes of the spec after an upgrade. Only changes that replace the nodes anyway adopt the current
// defaults.
func TestUpgradeThenChange(t *testing.T) {
	kept, adopted := [2]string{olderImage, olderLimit}, [2]string{memcachedtest.DefaultImage, presentLimit}
	// These changes restart memcached in the existing pods of a StatefulSet.
	inPlace := []string{"a restart", "connections"}
	for name, c := range map[string]struct {
		change func(*cachev1alpha1.Memcached)
		want   [2]string
	}{
		"nothing":  {func(*cachev1alpha1.Memcached) {}, kept},
		"size":     {memcachedtest.Size(5), kept},
		"budget":   {func(mc *cachev1alpha1.Memcached) { mc.Spec.PodDisruptionBudget.Enabled = ptr.To(false) }, kept},
		"strategy": {func(mc *cachev1alpha1.Memcached) { mc.Spec.UpdateStrategy.MaxUnavailable = ptr.To(intstr.FromInt32(2)) }, kept},
		"a field that is given its default": {func(mc *cachev1alpha1.Memcached) {
			mc.Spec.ImagePullPolicy, mc.Spec.Config.Threads = corev1.PullIfNotPresent, 4
		}, kept},

		"a restart":           {memcachedtest.RestartedAt(2026), adopted},
		"an image":            {memcachedtest.Image("memcached:mine"), [2]string{"memcached:mine", presentLimit}},
		"the image that runs": {memcachedtest.Image(olderImage), [2]string{olderImage, presentLimit}},
		"connections":         {func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.MaxConnections = 1023 }, adopted},
		"pod labels": {func(mc *cachev1alpha1.Memcached) {
			mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"team": "a"}
		}, adopted},
		"pod annotations": {func(mc *cachev1alpha1.Memcached) {
			mc.Spec.PodMetadata.Annotations = map[string]cachev1alpha1.AnnotationValue{"restarted-at": "noon"}
		}, adopted},
		"TLS":            {encryptedBy("a"), [2]string{memcachedtest.DefaultImage, limitWithTLS}},
		"users":          {usersOf("a"), adopted},
		"a memory limit": {withLimit(corev1.ResourceMemory, "1Gi"), [2]string{memcachedtest.DefaultImage, "1Gi"}},
	} {
		t.Run(name, func(t *testing.T) {
			inEachWorkload(t, func(t *testing.T, in func(*cachev1alpha1.Memcached)) {
				mc := memcachedtest.Cache(3, in)
				workload := leftByOlder(t, mc, memcachedtest.Options)
				c.change(mc)
				if !memcached.IsStatefulSet(mc) && (mc.Spec.TLS != nil || mc.Spec.Auth != nil) {
					return // the API server refuses it
				}
				want := c.want
				if memcached.IsStatefulSet(mc) && slices.Contains(inPlace, name) {
					want = kept
				}
				if diff := cmp.Diff(inWorkload(mc, want), rendered(t, mc, workload)); diff != "" {
					t.Errorf("image and limit (-want +got):\n%s", diff)
				}
				after, agent := renderedAfter(t, mc, workload, memcachedtest.Options), memcachedtest.AgentImage
				if want == kept {
					agent = olderAgent
				}
				for _, container := range memcached.PodTemplate(after).Spec.InitContainers {
					if container.Image != agent {
						t.Errorf("%s is from %s, want %s", container.Name, container.Image, agent)
					}
				}
				announced := strings.Contains(staleDefaults(mc, recordOf(after), memcachedtest.Options), "the agent "+memcachedtest.AgentImage)
				if announced != (memcached.IsStatefulSet(mc) && want == kept) {
					t.Errorf("the newer agent is announced: %t", announced)
				}
			})
		})
	}
}

func withLimit(name corev1.ResourceName, quantity string) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) {
		mc.Spec.Resources.Limits = corev1.ResourceList{name: resource.MustParse(quantity)}
	}
}

// TestUnsettingAdoptsTheDefaults removes the image and then the memory limit from the spec.
func TestUnsettingAdoptsTheDefaults(t *testing.T) {
	inEachWorkload(t, func(t *testing.T, in func(*cachev1alpha1.Memcached)) {
		mc := memcachedtest.Cache(3, in, memcachedtest.Image("memcached:mine"), withLimit(corev1.ResourceMemory, "1Gi"))
		workload := leftByOlder(t, mc, memcachedtest.Options)
		mc.Spec.Image = ""
		if got := rendered(t, mc, workload); got != [2]string{memcachedtest.DefaultImage, "1Gi"} {
			t.Errorf("without the image: %v", got)
		}
		mc.Spec.Resources.Limits = nil
		if got := rendered(t, mc, workload); got != inWorkload(mc, [2]string{memcachedtest.DefaultImage, presentLimit}) {
			t.Errorf("without image and limit: %v", got)
		}
	})
}

// TestOmitRunAsUserIsAChange checks that this option of the installer changes the pod template of an existing workload.
func TestOmitRunAsUserIsAChange(t *testing.T) {
	mc := memcachedtest.Cache(3)
	opts := memcached.Options{DefaultImage: memcachedtest.DefaultImage, OmitRunAsUser: true}
	deployment := deploymentOf(t, mc, memcached.Observed{Children: []client.Object{leftByOlder(t, mc, older).Object}}, opts)
	security := deployment.Spec.Template.Spec.SecurityContext
	if security.RunAsUser != nil || security.RunAsGroup != nil || !*security.RunAsNonRoot {
		t.Errorf("%+v", security)
	}
}

// renderedAfter returns the desired workload if the cluster has the live one.
func renderedAfter(t *testing.T, mc *cachev1alpha1.Memcached, live *memcached.Workload, opts memcached.Options) client.Object {
	t.Helper()
	plan := For(memcachedtest.View(mc, memcached.Observed{Children: []client.Object{live.Object}}), opts)
	after := plan.Workload()
	if plan.Problem != nil {
		t.Fatal(plan.Problem)
	}
	return after
}

// rendered returns the desired image and memory limit if the cluster has the live workload. It also checks the annotations that
// record them.
func rendered(t *testing.T, mc *cachev1alpha1.Memcached, live *memcached.Workload) [2]string {
	t.Helper()
	after := renderedAfter(t, mc, live, memcachedtest.Options)
	container := memcached.PodTemplate(after).Spec.Containers[0]
	limit := container.Resources.Limits[corev1.ResourceMemory]
	if request := container.Resources.Requests[corev1.ResourceMemory]; request.Cmp(limit) != 0 {
		t.Errorf("the request %s is not the limit %s", request.String(), limit.String())
	}
	var want podDefaults
	if mc.Spec.Image == "" {
		want.Images = map[string]cachev1alpha1.DefaultImage{memcached.ContainerName: cachev1alpha1.DefaultImage(container.Image)}
	}
	for _, agent := range memcached.PodTemplate(after).Spec.InitContainers {
		if want.Images == nil {
			want.Images = map[string]cachev1alpha1.DefaultImage{}
		}
		want.Images[memcached.AgentContainerName] = cachev1alpha1.DefaultImage(agent.Image)
	}
	if mc.Spec.Resources.Limits.Memory().IsZero() {
		want.MemoryLimit = limit.String()
	}
	if diff := cmp.Diff(want, recordOf(after)); diff != "" {
		t.Errorf("the recorded defaults (-want +got):\n%s", diff)
	}
	return [2]string{container.Image, limit.String()}
}

// TestRolloutRestartAdopts runs "kubectl rollout restart" on a StatefulSet after an upgrade. The new pods adopt the current
// defaults. A later upgrade does not change them again.
func TestRolloutRestartAdopts(t *testing.T) {
	mc := memcachedtest.Cache(3, workloadKind(statefulSetKind))
	live := leftByOlder(t, mc, memcachedtest.Options)
	mc.Status.LastApplied = &cachev1alpha1.MemcachedRecord{
		TemplateHash: memcached.RecordOf(live).Template, Defaults: recordOf(live),
	}
	if got := rendered(t, mc, live); got != inWorkload(mc, [2]string{olderImage, olderLimit}) {
		t.Fatalf("after the upgrade: %v", got)
	}
	live.Template.Annotations[kubectlRestartedAt] = "2026-01-01T00:00:00Z"
	if got := rendered(t, mc, live); got != inWorkload(mc, [2]string{memcachedtest.DefaultImage, presentLimit}) {
		t.Errorf("after the restart: %v", got)
	}
	mc.Status.LastApplied.RolloutRestartedAt = "2026-01-01T00:00:00Z"
	if got := rendered(t, mc, live); got != inWorkload(mc, [2]string{olderImage, olderLimit}) {
		t.Errorf("after another upgrade: %v", got)
	}
}

// TestRestartedAtIsRecordedAsItIsStored covers a long annotation that is cut off inside a character. The recorded text must be valid
// UTF-8, so that JSON stores it unchanged. Otherwise, the operator would find a new restart in each reconcile.
func TestRestartedAtIsRecordedAsItIsStored(t *testing.T) {
	mc := memcachedtest.Cache(3, workloadKind(statefulSetKind))
	live := leftByOlder(t, mc, memcachedtest.Options)
	live.Template.Annotations[kubectlRestartedAt] = "x" + strings.Repeat("é", 40)
	if got := rolloutRestartedAt(memcached.View{Workload: live}); !utf8.ValidString(got) || len(got) != 63 {
		t.Errorf("got %q", got)
	}
}

// TestAgentWithoutImage covers an operator that does not know its own image, which is also the image of agents and launchers.
func TestAgentWithoutImage(t *testing.T) {
	untold := memcached.Options{DefaultImage: memcachedtest.DefaultImage}
	mc := memcachedtest.Cache(3, workloadKind(statefulSetKind))
	problem := For(memcachedtest.View(mc, memcached.Observed{}), untold).Problem
	if problem == nil || problem.Reason != cachev1alpha1.ReasonInvalidSpec ||
		!strings.Contains(problem.Message, "spec.workload StatefulSet needs the image of the agent") {
		t.Errorf("the problem is %v", problem)
	}
	live := memcached.Observed{Children: []client.Object{liveWorkload(t, mc, memcachedtest.Options).Object}}
	if plan := For(memcachedtest.View(mc, live), untold); plan.Problem != nil {
		t.Errorf("nodes that run are questioned: %v", plan.Problem)
	}
}
