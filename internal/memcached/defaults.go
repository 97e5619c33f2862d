// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

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
// that the user causes adopts the present defaults; fresh says that it is one. A recorded limit that cannot even hold the
// items was not written by us.
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
	if err == nil && limit.Value() > sizingOf(mc).memory {
		kept.memoryLimit = limit
	}
	return kept, false
}

// outdated says in words which recorded defaults a rollout would replace for the better: the image if it is not the
// present default, and the memory limit if it is less than memcached needs. Empty if there is nothing to tell.
func outdated(mc *cachev1alpha1.Memcached, live *appsv1.Deployment, opts Options) string {
	if live == nil {
		return ""
	}
	var news []string
	if image := live.Annotations[defaultImageAnnotation]; image != "" && image != opts.DefaultImage {
		news = append(news, "the image "+opts.DefaultImage)
	}
	limit, err := resource.ParseQuantity(live.Annotations[defaultMemoryLimitAnnotation])
	if s := sizingOf(mc); err == nil && s.check(limit) != nil {
		news = append(news, fmt.Sprintf("a memory limit of %dMi", s.limit()/mebibyte))
	}
	return strings.Join(news, " and ")
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
