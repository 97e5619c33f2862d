// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/example/memcached-operator/test/kustomize"
)

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

func TestImagesArePinned(t *testing.T) {
	all := kustomize.Render(t, config("default"))
	tagged := regexp.MustCompile(`^[^@ ]+/[^@ :]+:v?\d+\.\d+\.\d+$`)
	for _, image := range []string{container(t, all).Image, env(t, all, "RELATED_IMAGE_MEMCACHED").Value} {
		if !tagged.MatchString(image) {
			t.Errorf("image %q does not name its registry and an exact version", image)
		}
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
