// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

const (
	olderImage = "docker.io/library/memcached:1.6.40"
	// olderLimit is what another sizing model computed for 64Mi; ours comes to presentLimit.
	olderLimit   = "242Mi"
	presentLimit = "198Mi"
)

// older is an operator of an earlier version; the present one has testOptions.
var older = memcached.Options{DefaultImage: olderImage}

// leftByOlder is the Deployment that an operator with another default image and another sizing model has left.
func leftByOlder(t testing.TB, mc *cachev1alpha1.Memcached, opts memcached.Options) *appsv1.Deployment {
	t.Helper()
	opts.DefaultImage = olderImage
	deployment := live(t, mc, opts)
	if recordOf(t, deployment).MemoryLimit != "" {
		limit := deployment.Spec.Template.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory]
		limit.Add(resource.MustParse("44Mi"))
		record(t, func(d *podDefaults) { d.MemoryLimit = limit.String() })(deployment)
		setMemory(deployment, limit.String())
	}
	return deployment
}

func recordOf(t testing.TB, deployment *appsv1.Deployment) podDefaults {
	t.Helper()
	var recorded podDefaults
	if text, ok := deployment.Annotations[podDefaultsAnnotation]; ok {
		if err := json.Unmarshal([]byte(text), &recorded); err != nil {
			t.Fatal(err)
		}
	}
	return recorded
}

// record changes the defaults that are recorded on a Deployment.
func record(t testing.TB, change func(*podDefaults)) func(*appsv1.Deployment) {
	return func(deployment *appsv1.Deployment) {
		recorded := recordOf(t, deployment)
		change(&recorded)
		deployment.Annotations[podDefaultsAnnotation] = encode(recorded)
	}
}

func setMemory(deployment *appsv1.Deployment, quantity string) {
	resources := &deployment.Spec.Template.Spec.Containers[0].Resources
	resources.Limits[corev1.ResourceMemory] = resource.MustParse(quantity)
	resources.Requests[corev1.ResourceMemory] = resource.MustParse(quantity)
}

// TestUpgradeAloneChangesNothing has the whole Deployment, annotations included: an upgrade sends no request.
func TestUpgradeAloneChangesNothing(t *testing.T) {
	for _, c := range goldenCases(t) {
		t.Run(c.name, func(t *testing.T) {
			before := leftByOlder(t, c.mc, c.opts)
			after, err := Deployment(c.mc, memcached.Observed{Children: memcachedtest.Children(before)}, c.opts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before.Annotations, after.Annotations); diff != "" {
				t.Errorf("annotations (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(string(encodedSpec(t, before)), string(encodedSpec(t, after))); diff != "" {
				t.Errorf("spec (-before +after):\n%s", diff)
			}
		})
	}
}

// TestUpgradeThenChange has changes that the user makes after an upgrade: those that replace the nodes anyway adopt the
// present defaults, and no others do.
func TestUpgradeThenChange(t *testing.T) {
	kept, adopted := [2]string{olderImage, olderLimit}, [2]string{memcachedtest.DefaultImage, presentLimit}
	for name, c := range map[string]struct {
		change func(*cachev1alpha1.Memcached)
		want   [2]string
	}{
		"nothing": {func(*cachev1alpha1.Memcached) {}, kept},
		"size":    {memcachedtest.Size(5), kept},
		"pause":   {memcachedtest.Paused, kept},
		"labels":  {func(mc *cachev1alpha1.Memcached) { mc.Labels = map[string]string{"a": "b"} }, kept},
		"service": {func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Service.Annotations = map[string]cachev1alpha1.AnnotationValue{"a": "b"}
		}, kept},
		"budget":          {func(mc *cachev1alpha1.Memcached) { mc.Spec.PodDisruptionBudget.Enabled = ptr.To(false) }, kept},
		"strategy":        {memcachedtest.MaxSurge(intstr.FromInt32(1)), kept},
		"minReadySeconds": {func(mc *cachev1alpha1.Memcached) { mc.Spec.UpdateStrategy.MinReadySeconds = 9 }, kept},
		"a field that is given its default": {func(mc *cachev1alpha1.Memcached) {
			mc.Spec.ImagePullPolicy, mc.Spec.Config.Threads = corev1.PullIfNotPresent, 4
		}, kept},

		"a restart":             {memcachedtest.RestartedAt(2026), adopted},
		"an image":              {memcachedtest.Image("memcached:mine"), [2]string{"memcached:mine", presentLimit}},
		"the image that runs":   {memcachedtest.Image(olderImage), [2]string{olderImage, presentLimit}},
		"connections":           {func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.MaxConnections = 1023 }, adopted},
		"another configuration": {func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Verbosity = 1 }, adopted},
		"pod labels": {func(mc *cachev1alpha1.Memcached) {
			mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"team": "a"}
		}, adopted},
		"pod annotations": {func(mc *cachev1alpha1.Memcached) {
			mc.Spec.PodMetadata.Annotations = map[string]cachev1alpha1.AnnotationValue{"restarted-at": "noon"}
		}, adopted},
		"a memory limit": {withLimit(corev1.ResourceMemory, "1Gi"), [2]string{memcachedtest.DefaultImage, "1Gi"}},
		"a CPU limit":    {withLimit(corev1.ResourceCPU, "4"), adopted},
		"scheduling":     {func(mc *cachev1alpha1.Memcached) { mc.Spec.Scheduling.PriorityClassName = "high" }, adopted},
		"shutdown": {func(mc *cachev1alpha1.Memcached) {
			mc.Spec.GracefulShutdown.PreStopDelaySeconds = ptr.To(int32(6))
		}, adopted},
		"a pull policy": {func(mc *cachev1alpha1.Memcached) { mc.Spec.ImagePullPolicy = corev1.PullAlways }, adopted},
		"a pull secret": {func(mc *cachev1alpha1.Memcached) {
			mc.Spec.ImagePullSecrets = []cachev1alpha1.ImagePullSecret{{Name: "registry"}}
		}, adopted},
	} {
		t.Run(name, func(t *testing.T) {
			mc := memcachedtest.Cache(3)
			deployment := leftByOlder(t, mc, memcachedtest.Options)
			c.change(mc)
			if diff := cmp.Diff(c.want, rendered(t, mc, deployment)); diff != "" {
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

// TestUnsettingAdoptsTheDefaults is the way back from an image and a limit of one's own.
func TestUnsettingAdoptsTheDefaults(t *testing.T) {
	mc := memcachedtest.Cache(3, memcachedtest.Image("memcached:mine"), withLimit(corev1.ResourceMemory, "1Gi"))
	deployment := leftByOlder(t, mc, memcachedtest.Options)
	mc.Spec.Image = ""
	if got := rendered(t, mc, deployment); got != [2]string{memcachedtest.DefaultImage, "1Gi"} {
		t.Errorf("without the image: %v", got)
	}
	mc.Spec.Resources.Limits = nil
	if got := rendered(t, mc, deployment); got != [2]string{memcachedtest.DefaultImage, presentLimit} {
		t.Errorf("without image and limit: %v", got)
	}
}

// TestKeptDefaults has live Deployments that are not as the operator left them.
func TestKeptDefaults(t *testing.T) {
	annotate := func(key, value string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { d.Annotations[key] = value }
	}
	limit := func(quantity string) func(*appsv1.Deployment) {
		return record(t, func(d *podDefaults) { d.MemoryLimit = quantity })
	}
	kept, adopted := [2]string{olderImage, olderLimit}, [2]string{memcachedtest.DefaultImage, presentLimit}
	for name, c := range map[string]struct {
		change func(*appsv1.Deployment)
		want   [2]string
	}{
		"somebody sets another image": {func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "evil" }, kept},
		"somebody sets another limit": {func(d *appsv1.Deployment) { setMemory(d, "1Gi") }, kept},
		"somebody sets anything":      {func(d *appsv1.Deployment) { d.Spec.Template = corev1.PodTemplateSpec{} }, kept},
		"a sidecar is injected": {func(d *appsv1.Deployment) {
			containers := d.Spec.Template.Spec.Containers
			d.Spec.Template.Spec.Containers = append([]corev1.Container{{Name: "proxy", Image: "proxy"}}, containers...)
		}, kept},

		"it is an orphan":              {func(d *appsv1.Deployment) { d.OwnerReferences = nil }, kept},
		"it belongs to somebody else":  {func(d *appsv1.Deployment) { d.OwnerReferences[0].UID = "another" }, adopted},
		"we do not control it":         {func(d *appsv1.Deployment) { d.OwnerReferences[0].Controller = nil }, kept},
		"all annotations are gone":     {func(d *appsv1.Deployment) { d.Annotations = nil }, adopted},
		"the hash is gone":             {func(d *appsv1.Deployment) { delete(d.Annotations, memcached.TemplateHashAnnotation) }, adopted},
		"the hash is garbage":          {annotate(memcached.TemplateHashAnnotation, "☃"), adopted},
		"the defaults are gone":        {func(d *appsv1.Deployment) { delete(d.Annotations, podDefaultsAnnotation) }, adopted},
		"the defaults are empty":       {annotate(podDefaultsAnnotation, ""), adopted},
		"the defaults are garbage":     {annotate(podDefaultsAnnotation, "{"), adopted},
		"the image is gone":            {record(t, func(d *podDefaults) { d.Images = nil }), [2]string{memcachedtest.DefaultImage, olderLimit}},
		"the image is empty":           {record(t, func(d *podDefaults) { d.Images[memcached.ContainerName] = "" }), [2]string{memcachedtest.DefaultImage, olderLimit}},
		"the limit is gone":            {limit(""), [2]string{olderImage, presentLimit}},
		"the limit is garbage":         {limit("much"), [2]string{olderImage, presentLimit}},
		"the limit is 0":               {limit("0"), [2]string{olderImage, presentLimit}},
		"the limit is negative":        {limit("-200Mi"), [2]string{olderImage, presentLimit}},
		"the limit is below the least": {limit("163Mi"), [2]string{olderImage, "163Mi"}},
		"the limit is below the items": {limit("63Mi"), [2]string{olderImage, presentLimit}},
	} {
		t.Run(name, func(t *testing.T) {
			mc := memcachedtest.Cache(3)
			deployment := leftByOlder(t, mc, memcachedtest.Options)
			c.change(deployment)
			if diff := cmp.Diff(c.want, rendered(t, mc, deployment)); diff != "" {
				t.Errorf("image and limit (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLimitBelowTheFloor refuses what the user asks for anew, and never what runs.
func TestLimitBelowTheFloor(t *testing.T) {
	for name, c := range map[string]struct {
		limit   string
		change  func(*appsv1.Deployment)
		refused bool
	}{
		"nothing runs":                 {"120Mi", nil, true},
		"the same template runs":       {"120Mi", func(*appsv1.Deployment) {}, false},
		"another template runs":        {"120Mi", func(d *appsv1.Deployment) { d.Annotations[memcached.TemplateHashAnnotation] = "0123" }, true},
		"it runs for somebody else":    {"120Mi", func(d *appsv1.Deployment) { d.OwnerReferences[0].UID = "another" }, true},
		"enough, and nothing runs":     {"166Mi", nil, false},
		"enough, and the same runs":    {"166Mi", func(*appsv1.Deployment) {}, false},
		"a limit of 0 is a limit":      {"0", nil, true},
		"a negative limit is a limit":  {"-1Gi", nil, true},
		"a limit that is no whole MiB": {"130000001", nil, true},
	} {
		for kind, list := range map[string]func(*cachev1alpha1.MemcachedSpec) *corev1.ResourceList{
			"limit":           func(s *cachev1alpha1.MemcachedSpec) *corev1.ResourceList { return &s.Resources.Limits },
			"request, so too": func(s *cachev1alpha1.MemcachedSpec) *corev1.ResourceList { return &s.Resources.Requests },
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				mc := memcachedtest.Cache(3)
				*list(&mc.Spec) = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
				var observed memcached.Observed
				deployment := live(t, mc, older)
				*list(&mc.Spec) = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(c.limit)}
				if c.change != nil {
					metav1.SetMetaDataAnnotation(&deployment.ObjectMeta, memcached.TemplateHashAnnotation, templateHash(mc, older))
					c.change(deployment)
					observed.Children = memcachedtest.Children(deployment)
				}
				desired, err := For(mc, observed, memcachedtest.Options)
				var invalid *InvalidError
				if errors.As(err, &invalid) != c.refused || (err != nil) != c.refused {
					t.Fatalf("refused: %v", err)
				}
				if c.refused && (invalid.Error() == "" || invalid.Reason != cachev1alpha1.ReasonInvalidResources || len(desired.Objects) != 3) {
					t.Errorf("reason %s, objects %v", invalid.Reason, desired.Objects)
				}
			})
		}
	}
}

// TestOmitRunAsUserIsAChange replaces the nodes: who installs the operator asks for it.
func TestOmitRunAsUserIsAChange(t *testing.T) {
	mc := memcachedtest.Cache(3)
	opts := memcached.Options{DefaultImage: memcachedtest.DefaultImage, OmitRunAsUser: true}
	deployment, err := Deployment(mc, memcached.Observed{Children: memcachedtest.Children(leftByOlder(t, mc, older))}, opts)
	if err != nil {
		t.Fatal(err)
	}
	security := deployment.Spec.Template.Spec.SecurityContext
	if security.RunAsUser != nil || security.RunAsGroup != nil || !*security.RunAsNonRoot {
		t.Errorf("%+v", security)
	}
}

// rendered are the image and the memory limit of the pods, with the annotations that record them.
func rendered(t *testing.T, mc *cachev1alpha1.Memcached, live *appsv1.Deployment) [2]string {
	t.Helper()
	deployment, err := Deployment(mc, memcached.Observed{Children: memcachedtest.Children(live)}, memcachedtest.Options)
	if err != nil {
		t.Fatal(err)
	}
	container := deployment.Spec.Template.Spec.Containers[0]
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
	if diff := cmp.Diff(want, recordOf(t, deployment)); diff != "" {
		t.Errorf("the recorded defaults (-want +got):\n%s", diff)
	}
	return [2]string{container.Image, limit.String()}
}
