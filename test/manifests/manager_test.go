// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/repository"
)

func TestManagerPassesRestrictedPodSecurity(t *testing.T) {
	for _, overlay := range []string{"default", "namespaced"} {
		t.Run(overlay, func(t *testing.T) {
			all := kustomize.Render(t, config(overlay))
			kustomize.MustBeRestricted(t, kustomize.Find[appsv1.Deployment](t, all, "Deployment", manager).Spec.Template)
		})
	}
}

func TestManagerIsHardenedBeyondPodSecurity(t *testing.T) {
	manager := container(t, kustomize.Render(t, config("default")))
	if readOnly := manager.SecurityContext.ReadOnlyRootFilesystem; readOnly == nil || !*readOnly {
		t.Error("the root file system is writable")
	}
	if manager.SecurityContext.RunAsUser != nil {
		t.Error("a fixed user is refused by OpenShift")
	}
	if _, limited := manager.Resources.Limits["cpu"]; limited {
		t.Error("a CPU limit would throttle the renewal of the lease")
	}
	if manager.LivenessProbe == nil || manager.ReadinessProbe == nil {
		t.Error("a probe is missing")
	}
}

// An upgrade waits for the readiness probe of the new pod, so the probe must succeed soon. An operator that does not
// answer for a short time must stay ready: otherwise, OLM would report that the Deployment is unavailable.
func TestManagerIsReadySoonAndForLong(t *testing.T) {
	probe := container(t, kustomize.Render(t, config("default"))).ReadinessProbe
	if soonest := probe.InitialDelaySeconds + probe.PeriodSeconds; soonest > 4 {
		t.Errorf("an operator that runs may count as unready for %d s", soonest)
	}
	if patience := probe.PeriodSeconds * probe.FailureThreshold; patience != 30 {
		t.Errorf("an operator that does not answer is unready after %d s, want 30 s", patience)
	}
}

// Go must begin to save memory before the limit kills the process, but not long before.
func TestGoMemoryLimitFollowsTheMemoryLimit(t *testing.T) {
	all := kustomize.Render(t, config("default"))
	soft := resource.MustParse(strings.TrimSuffix(env(t, all, "GOMEMLIMIT").Value, "B"))
	limits := container(t, all).Resources.Limits
	hard := limits.Memory()
	if share := soft.AsApproximateFloat64() / hard.AsApproximateFloat64(); share < 0.65 || share > 0.75 {
		t.Errorf("GOMEMLIMIT is %s, %.0f %% of the memory limit %s; want about 70 %%", soft.String(), share*100, hard)
	}
}

func TestManagerArgumentsAreFlagsOfMain(t *testing.T) {
	main := repository.Read(t, "main.go")
	for _, overlay := range []string{"default", "namespaced"} {
		for _, arg := range container(t, kustomize.Render(t, config(overlay))).Args {
			name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
			if !strings.Contains(main, "\""+name+"\"") {
				t.Errorf("config/%s passes %s, which main.go does not define", overlay, arg)
			}
		}
	}
}

func TestImagesArePinned(t *testing.T) {
	all := kustomize.Render(t, config("default"))
	tagged := regexp.MustCompile(`^[^@ ]+/[^@ :]+:v?\d+\.\d+\.\d+$`)
	for _, image := range []string{container(t, all).Image, env(t, all, "RELATED_IMAGE_MEMCACHED").Value} {
		if !tagged.MatchString(image) {
			t.Errorf("image %q does not name its registry and an exact version", image)
		}
	}
}

func TestManagerImageIsTheOneThatMakeBuilds(t *testing.T) {
	variable := func(name string) string { return repository.Variable(t, name) }
	want := strings.NewReplacer("$(IMAGE_TAG_BASE)", variable("IMAGE_TAG_BASE"), "$(VERSION)", variable("VERSION")).
		Replace(variable("IMG"))
	if got := container(t, kustomize.Render(t, config("default"))).Image; got != want {
		t.Errorf("config/manager has the image %s, the Makefile builds %s", got, want)
	}
}

// The image of the agents must have the name of the operator's image, with "-agent" before the tag.
func TestAgentImageBelongsToTheManager(t *testing.T) {
	for _, overlay := range []string{"default", "namespaced"} {
		all := kustomize.Render(t, config(overlay))
		want := strings.Replace(container(t, all).Image, "memcached-operator:", "memcached-operator-agent:", 1)
		if got := env(t, all, "RELATED_IMAGE_MEMCACHED_AGENT").Value; got != want {
			t.Errorf("config/%s has agents from the image %s, want %s", overlay, got, want)
		}
	}
}

// The Deployment must select exactly the platforms of the image. On a cluster node of another platform, the image would not start.
func TestManagerRunsOnThePlatformsOfItsImage(t *testing.T) {
	template := kustomize.Find[appsv1.Deployment](t, kustomize.Render(t, config("default")), "Deployment", manager).Spec.Template
	terms := template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	expression := repository.TheOnly(t, repository.TheOnly(t, terms, "terms").MatchExpressions, "expressions")
	if expression.Key != "kubernetes.io/arch" || expression.Operator != "In" {
		t.Errorf("the affinity is %v", expression)
	}
	var platforms []string
	for _, architecture := range expression.Values {
		platforms = append(platforms, template.Spec.NodeSelector["kubernetes.io/os"]+"/"+architecture)
	}
	if got, want := strings.Join(platforms, ","), repository.Variable(t, "PLATFORMS"); got != want {
		t.Errorf("the operator runs on %s, its image is built for %s", got, want)
	}
}
