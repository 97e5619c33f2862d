// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// podDefaultsAnnotation is the annotation of the workload with podDefaults.
const podDefaultsAnnotation = "cache.example.com/pod-defaults"

// podDefaults are what the operator decides about the pods where the spec does not, and what a later version of the operator may
// decide differently. Those that apply are recorded in an annotation of the workload, as JSON: its own fields anybody may change.
type podDefaults struct {
	// Images are the default images of the containers, by the name of the container.
	Images map[string]string `json:"images,omitempty"`
	// MemoryLimit is the computed memory limit of memcached, a quantity.
	MemoryLimit string `json:"memoryLimit,omitempty"`
}

// presentDefaults are those of this version of the operator.
func presentDefaults(mc *cachev1alpha1.Memcached, opts memcached.Options) podDefaults {
	images := map[string]string{}
	if mc.Spec.Image == "" {
		images[memcached.ContainerName] = opts.DefaultImage
	}
	if wantsAgent(mc) {
		images[memcached.AgentContainerName] = opts.AgentImage
	}
	return podDefaults{
		Images:      images,
		MemoryLimit: resource.NewQuantity(sizingOf(mc).limit(), resource.BinarySI).String(),
	}
}

// recordedDefaults are those that were recorded on a workload. What cannot be read counts as not recorded.
func recordedDefaults(workload client.Object) podDefaults {
	var recorded podDefaults
	if err := json.Unmarshal([]byte(workload.GetAnnotations()[podDefaultsAnnotation]), &recorded); err != nil {
		return podDefaults{}
	}
	return recorded
}

// decideDefaults keeps the defaults of the running pods for as long as the spec gives no other cause to replace them, so that an
// upgrade of the operator alone (a newer default image, another sizing model) replaces no pod. The next rollout that the user
// causes adopts the present defaults; adopted reports that this is one. A recorded limit that cannot even hold the items was not
// written by us.
func decideDefaults(
	mc *cachev1alpha1.Memcached, live *memcached.Workload, opts memcached.Options, templateHash string,
) (_ podDefaults, adopted bool) {
	defaults := presentDefaults(mc, opts)
	if live == nil || live.TemplateHash() != templateHash {
		return defaults, true
	}
	recorded := recordedDefaults(live)
	for container := range defaults.Images {
		if image := recorded.Images[container]; image != "" {
			defaults.Images[container] = image
		}
	}
	if limit, err := resource.ParseQuantity(recorded.MemoryLimit); err == nil && limit.Value() > sizingOf(mc).memory {
		defaults.MemoryLimit = recorded.MemoryLimit
	}
	return defaults, false
}

// staleDefaults says in words which recorded defaults a rollout would replace for the better: the image if it is not the present
// default, and the memory limit if it is less than memcached needs. Empty if there are none. Agents have a new image with each
// version of the operator, which is no reason to empty a cache.
func staleDefaults(mc *cachev1alpha1.Memcached, recorded podDefaults, opts memcached.Options) string {
	var stale []string
	if image := recorded.Images[memcached.ContainerName]; image != "" && image != opts.DefaultImage {
		stale = append(stale, "the image "+opts.DefaultImage)
	}
	limit, err := resource.ParseQuantity(recorded.MemoryLimit)
	if s := sizingOf(mc); err == nil && s.check(limit) != nil {
		stale = append(stale, fmt.Sprintf("a memory limit of %dMi", s.limit()/mebibyte))
	}
	return strings.Join(stale, " and ")
}

// annotations record the template hash, and the defaults where the spec does not decide.
func (d podDefaults) annotations(mc *cachev1alpha1.Memcached, templateHash string) map[string]string {
	if _, given := givenMemoryLimit(mc); given {
		d.MemoryLimit = ""
	}
	annotations := map[string]string{memcached.TemplateHashAnnotation: templateHash}
	if text := encode(d); text != "{}" {
		annotations[podDefaultsAnnotation] = text
	}
	return annotations
}

// encode returns a value as JSON. Those of this package always have one.
func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", value, err))
	}
	return string(text)
}
