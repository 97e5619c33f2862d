// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"strings"
	"testing"

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
	// olderLimit is the limit for 64Mi of item memory in an earlier sizing model, and presentLimit is that in the current model.
	olderLimit   = "242Mi"
	presentLimit = "198Mi"
)

// older holds the options of an earlier version of the operator. The current version has memcachedtest.Options.
var older = memcached.Options{DefaultImage: olderImage, AgentImage: olderAgent}

// leftByOlder returns the Deployment that an earlier operator has left, with another default image and another sizing model.
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
	return workload
}

func recordOf(workload client.Object) podDefaults {
	return memcached.RecordOf(workload).Defaults
}

// record returns a function that changes the record on a workload.
func record(change func(*memcached.Record)) func(*memcached.Workload) {
	return func(workload *memcached.Workload) {
		recorded := memcached.RecordOf(workload)
		change(&recorded)
		maps.Copy(workload.GetAnnotations(), recorded.Annotations())
	}
}

func setMemory(workload *memcached.Workload, quantity string) {
	resources := &workload.Template.Spec.Containers[0].Resources
	resources.Limits[corev1.ResourceMemory] = resource.MustParse(quantity)
	resources.Requests[corev1.ResourceMemory] = resource.MustParse(quantity)
}

// TestUpgradeAloneChangesNothing checks that an upgrade of the operator changes nothing in a Deployment, so that it causes no write. See
// TestNewerOperator for StatefulSets.
func TestUpgradeAloneChangesNothing(t *testing.T) {
	for _, c := range goldenCases(t) {
		if memcached.IsStatefulSet(c.mc) {
			continue
		}
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

// TestUpgradeThenChange covers changes of a Deployment's spec after an upgrade. Only changes that replace the nodes anyway adopt the
// current defaults.
func TestUpgradeThenChange(t *testing.T) {
	kept, adopted := [2]string{olderImage, olderLimit}, [2]string{memcachedtest.DefaultImage, presentLimit}
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
		"a memory limit": {withLimit(corev1.ResourceMemory, "1Gi"), [2]string{memcachedtest.DefaultImage, "1Gi"}},
	} {
		t.Run(name, func(t *testing.T) {
			mc := memcachedtest.Cache(3)
			workload := leftByOlder(t, mc, memcachedtest.Options)
			c.change(mc)
			if diff := cmp.Diff(c.want, rendered(t, mc, workload)); diff != "" {
				t.Errorf("image and limit (-want +got):\n%s", diff)
			}
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
	mc := memcachedtest.Cache(3, memcachedtest.Image("memcached:mine"), withLimit(corev1.ResourceMemory, "1Gi"))
	workload := leftByOlder(t, mc, memcachedtest.Options)
	mc.Spec.Image = ""
	if got := rendered(t, mc, workload); got != [2]string{memcachedtest.DefaultImage, "1Gi"} {
		t.Errorf("without the image: %v", got)
	}
	mc.Spec.Resources.Limits = nil
	if got := rendered(t, mc, workload); got != [2]string{memcachedtest.DefaultImage, presentLimit} {
		t.Errorf("without image and limit: %v", got)
	}
}

// TestOmitRunAsUserIsAChange checks that this option of the installer changes the pod template of an existing workload.
func TestOmitRunAsUserIsAChange(t *testing.T) {
	mc := memcachedtest.Cache(3)
	opts := memcached.Options{DefaultImage: memcachedtest.DefaultImage, OmitRunAsUser: true}
	deployment := renderedDeployment(t, mc, memcached.Observed{Children: []client.Object{leftByOlder(t, mc, older).Object}}, opts)
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
		want.Images = map[string]string{memcached.ContainerName: container.Image}
	}
	if mc.Spec.Resources.Limits.Memory().IsZero() {
		want.MemoryLimit = limit.String()
	}
	if diff := cmp.Diff(want, recordOf(after)); diff != "" {
		t.Errorf("the recorded defaults (-want +got):\n%s", diff)
	}
	return [2]string{container.Image, limit.String()}
}

// TestAgentWithoutImage covers an operator that does not know its own image.
func TestAgentWithoutImage(t *testing.T) {
	untold := memcached.Options{DefaultImage: memcachedtest.DefaultImage}
	mc := memcachedtest.Cache(3, workloadKind(statefulSetKind))
	problem := For(memcachedtest.View(mc, memcached.Observed{}), untold).Problem
	if problem == nil || problem.Reason != cachev1alpha1.ReasonInvalidSpec ||
		!strings.Contains(problem.Message, "spec.workload StatefulSet needs the image of the agent") {
		t.Errorf("the problem is %v", problem)
	}
}
