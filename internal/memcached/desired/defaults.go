// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// podDefaults are settings of the pods that the operator chooses because the spec leaves them open. Another version of the operator
// may choose other values. The workload records them, and keeps them until its pods must be replaced anyway: see ADR-0002.
type podDefaults = memcached.Defaults

// presentDefaults returns the settings that this version of the operator chooses for new pods.
func presentDefaults(mc *cachev1alpha1.Memcached, opts memcached.Options) podDefaults {
	images := map[string]string{}
	if mc.Spec.Image == "" {
		images[memcached.ContainerName] = opts.DefaultImage
	}
	if memcached.IsStatefulSet(mc) {
		images[memcached.AgentContainerName] = opts.AgentImage
	}
	var present podDefaults
	if len(images) > 0 { // JSON does not tell an empty map from none
		present.Images = images
	}
	if _, given := givenLimit(mc.Spec.Resources); !given {
		present.MemoryLimit = defaultLimit(mc)
	}
	return present
}

// defaultLimit is the memory limit of memcached's container if the spec has none.
func defaultLimit(mc *cachev1alpha1.Memcached) string {
	return resource.NewQuantity(sizingOf(mc).limit(), resource.BinarySI).String()
}

// keepDefaults returns the present defaults, but with each recorded value that running nodes can keep.
func keepDefaults(mc *cachev1alpha1.Memcached, present, recorded podDefaults) podDefaults {
	for container := range present.Images {
		if kept := recorded.Images[container]; kept != "" {
			present.Images[container] = kept
		}
	}
	kept, err := resource.ParseQuantity(recorded.MemoryLimit)
	if present.MemoryLimit != "" && err == nil && kept.Value() > sizingOf(mc).memory {
		present.MemoryLimit = recorded.MemoryLimit
	}
	return present
}

// decideDefaults returns the defaults for the pods of a Deployment. Running pods keep their defaults, so an upgrade of the operator alone
// replaces no pods. If a change of the spec requires new pods, these get the present defaults. changed reports that it does.
func decideDefaults(v memcached.View, opts memcached.Options, templateHash string) (_ podDefaults, changed bool) {
	present := presentDefaults(v.Memcached, opts)
	if v.Workload == nil {
		return present, true
	}
	recorded := memcached.RecordOf(v.Workload)
	if recorded.Template != templateHash {
		return present, true
	}
	return keepDefaults(v.Memcached, present, recorded.Defaults), false
}

// staleDefaults describes the newer defaults that the next rollout would adopt, or returns "". A higher limit is worth a rollout, which
// empties the nodes, only if the recorded one is too low.
func staleDefaults(mc *cachev1alpha1.Memcached, defaults podDefaults, opts memcached.Options) string {
	var stale []string
	present := presentDefaults(mc, opts)
	for _, container := range slices.Sorted(maps.Keys(present.Images)) {
		if image := present.Images[container]; image != "" && image != defaults.Images[container] {
			stale = append(stale, "the image "+image)
		}
	}
	limit, err := resource.ParseQuantity(defaults.MemoryLimit)
	if s := sizingOf(mc); present.MemoryLimit != "" && err == nil && s.check(limit) != nil {
		stale = append(stale, fmt.Sprintf("a memory limit of %dMi", s.limit()/mebibyte))
	}
	return strings.Join(stale, " and ")
}
