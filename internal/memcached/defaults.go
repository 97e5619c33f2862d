// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// podDefaults are what the operator decides about the pods where the spec does not, and what a later version of the operator may
// decide differently. Those that apply are recorded in an annotation of the workload, as JSON: its own fields anybody may change.
type podDefaults struct {
	// Images are the default images of the containers, by the name of the container.
	Images map[string]string `json:"images,omitempty"`
	// MemoryLimit is the computed memory limit of memcached, a quantity.
	MemoryLimit string `json:"memoryLimit,omitempty"`
}

// presentDefaults are those of this version of the operator.
func presentDefaults(mc *cachev1alpha1.Memcached, opts Options) podDefaults {
	return podDefaults{
		Images:      map[string]string{containerName: opts.DefaultImage},
		MemoryLimit: resource.NewQuantity(sizingOf(mc).limit(), resource.BinarySI).String(),
	}
}

// recordedDefaults are those that were recorded on a workload. What cannot be read counts as not recorded.
func recordedDefaults(w *workload) podDefaults {
	var recorded podDefaults
	if err := json.Unmarshal([]byte(w.GetAnnotations()[podDefaultsAnnotation]), &recorded); err != nil {
		return podDefaults{}
	}
	return recorded
}

// decideDefaults keeps the defaults of the running pods for as long as the spec gives no other cause to replace them, so that an
// upgrade of the operator alone (a newer default image, another sizing model) replaces no pod. The next rollout that the user
// causes adopts the present defaults; adopted reports that this is one. A recorded limit that cannot even hold the items was not
// written by us.
func decideDefaults(mc *cachev1alpha1.Memcached, live *workload, opts Options, templateHash string) (_ podDefaults, adopted bool) {
	defaults := presentDefaults(mc, opts)
	if live == nil || live.GetAnnotations()[templateHashAnnotation] != templateHash {
		return defaults, true
	}
	recorded := recordedDefaults(live)
	for container, image := range recorded.Images {
		if image != "" {
			defaults.Images[container] = image
		}
	}
	if limit, err := resource.ParseQuantity(recorded.MemoryLimit); err == nil && limit.Value() > sizingOf(mc).memory {
		defaults.MemoryLimit = recorded.MemoryLimit
	}
	return defaults, false
}

// staleDefaults says in words which recorded defaults a rollout would replace for the better: the image if it is not the present
// default, and the memory limit if it is less than memcached needs. Empty if there are none.
func staleDefaults(mc *cachev1alpha1.Memcached, live *workload, opts Options) string {
	if live == nil {
		return ""
	}
	var stale []string
	recorded := recordedDefaults(live)
	if image := recorded.Images[containerName]; image != "" && image != opts.DefaultImage {
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
	if mc.Spec.Image != "" {
		d.Images = nil
	}
	if _, given := givenMemoryLimit(mc); given {
		d.MemoryLimit = ""
	}
	annotations := map[string]string{templateHashAnnotation: templateHash}
	if text := encode(d); text != "{}" {
		annotations[podDefaultsAnnotation] = text
	}
	return annotations
}

// templateHash is the hash of the pod template that the spec alone determines.
func templateHash(mc *cachev1alpha1.Memcached, opts Options) string {
	sum := sha256.Sum256([]byte(encode(podTemplate(mc, opts, podDefaults{}))))
	return hex.EncodeToString(sum[:8])
}

// encode returns a value as JSON. Those of this package always have one.
func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", value, err))
	}
	return string(text)
}
