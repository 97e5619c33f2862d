// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// images finds images of the operator or of an example that are missing among the related images, so a mirror would not copy them.
// It also finds related images that nothing uses.
func images(b *bundle) []string {
	used := map[string][]string{}
	use := func(image, by string) { used[image] = append(used[image], by) }
	use(b.csv.Annotations["containerImage"], "the annotation containerImage")
	for name, pod := range b.pods() {
		for _, container := range containersOf(pod) {
			use(container.Image, "the container "+container.Name+" of "+name)
			for _, variable := range container.Env {
				if strings.HasPrefix(variable.Name, "RELATED_IMAGE_") {
					use(variable.Value, "the variable "+variable.Name)
				}
			}
		}
	}
	var examples []struct{ Spec struct{ Image string } }
	if err := json.Unmarshal([]byte(b.csv.Annotations["alm-examples"]), &examples); err != nil {
		return []string{"alm-examples is no list of resources: " + err.Error()}
	}
	for _, example := range examples {
		if example.Spec.Image != "" {
			use(example.Spec.Image, "an example")
		}
	}
	return compareImages(b, used)
}

// compareImages returns what is wrong with the related images. used maps each image that must be a related image to what uses the image.
func compareImages(b *bundle, used map[string][]string) []string {
	var wrong, names []string
	related := map[string]bool{}
	for _, image := range b.csv.Spec.RelatedImages {
		if image.Name == "" || slices.Contains(names, image.Name) {
			wrong = append(wrong, fmt.Sprintf("the related image %s has the name %q, which must be one of its own", image.Image, image.Name))
		}
		if related[image.Image] {
			wrong = append(wrong, fmt.Sprintf("%s is a related image twice", image.Image))
		}
		if used[image.Image] == nil {
			wrong = append(wrong, fmt.Sprintf("%s is a related image that nothing uses", image.Image))
		}
		names = append(names, image.Name)
		related[image.Image] = true
	}
	for image, by := range used {
		if !related[image] {
			wrong = append(wrong, fmt.Sprintf("the image %q of %s is no related image: name it in a variable RELATED_IMAGE_*",
				image, strings.Join(by, ", ")))
		}
	}
	slices.Sort(wrong)
	return wrong
}
