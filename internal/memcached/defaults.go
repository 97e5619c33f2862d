// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// podDefaults are what the operator decides about the pods where the spec does not, and what a later version of the
// operator may decide differently.
type podDefaults struct {
	image       string
	memoryLimit resource.Quantity
}

// decideDefaults keeps the defaults of the running pods for as long as the spec gives no other cause to replace them, so
// that an upgrade of the operator alone (a newer default image, another sizing model) replaces no pod. The next rollout
// that the user causes adopts the present defaults; fresh says that it is one. A computed memory limit is kept only while
// it is enough: the user did not choose it, and memcached could be killed with it.
func decideDefaults(
	mc *cachev1alpha1.Memcached, live *appsv1.Deployment, opts Options, templateHash string,
) (defaults podDefaults, fresh bool) {
	present := podDefaults{
		image:       opts.DefaultImage,
		memoryLimit: *resource.NewQuantity(sizingOf(mc).limit(), resource.BinarySI),
	}
	if live == nil || live.Annotations[templateHashAnnotation] != templateHash {
		return present, true
	}
	kept := present
	if image := live.Annotations[defaultImageAnnotation]; image != "" {
		kept.image = image
	}
	limit, err := resource.ParseQuantity(live.Annotations[defaultMemoryLimitAnnotation])
	if err == nil && sizingOf(mc).check(limit) == nil {
		kept.memoryLimit = limit
	}
	return kept, false
}

// annotations record the decision on the Deployment, whose own fields anybody may have changed since.
func (d podDefaults) annotations(mc *cachev1alpha1.Memcached, templateHash string) map[string]string {
	annotations := map[string]string{templateHashAnnotation: templateHash}
	if mc.Spec.Image == "" {
		annotations[defaultImageAnnotation] = d.image
	}
	if _, given := givenMemoryLimit(mc); !given {
		annotations[defaultMemoryLimitAnnotation] = d.memoryLimit.String()
	}
	return annotations
}

// templateHash is the hash of the pod template that the spec alone determines.
func templateHash(mc *cachev1alpha1.Memcached, opts Options) string {
	text, err := json.Marshal(podTemplate(mc, opts, podDefaults{}))
	if err != nil {
		panic(fmt.Sprintf("a pod template is always valid JSON: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
