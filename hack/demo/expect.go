// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/await"
)

// readyWith returns why a Memcached is not Ready with this number of nodes, or "" if it is.
func readyWith(mc *cachev1alpha1.Memcached, size int) string {
	ready := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady)
	switch {
	case mc.Status.ObservedGeneration != mc.Generation:
		return fmt.Sprintf("status.observedGeneration is %d of generation %d", mc.Status.ObservedGeneration, mc.Generation)
	case ready == nil:
		return "there is no condition Ready"
	case ready.Status != metav1.ConditionTrue:
		return fmt.Sprintf("Ready is %s (%s: %s)", ready.Status, ready.Reason, ready.Message)
	case len(mc.Status.Nodes) != size:
		return fmt.Sprintf("status.nodes has %d names instead of %d: %s", len(mc.Status.Nodes), size, mc.Status.Nodes)
	}
	return ""
}

func without(mc *cachev1alpha1.Memcached, name string) string {
	if slices.Contains(mc.Status.Nodes, name) {
		return "status.nodes still has " + name
	}
	return ""
}

// running returns a message about the pods that do not run the image, or "" if all do.
func running(pods []corev1.Pod, image string) string {
	var others []string
	for i := range pods {
		for _, container := range pods[i].Spec.Containers {
			if container.Image != image {
				others = append(others, pods[i].Name+" runs "+container.Image)
			}
		}
	}
	return strings.Join(others, ", ")
}

// untilReady returns a step that waits until the sample is Ready with this number of nodes, and the checks find nothing missing.
func (d *demo) untilReady(size int, checks ...await.Check) step {
	return func(ctx context.Context) error {
		return d.until(ctx, func(ctx context.Context) (string, error) {
			d.mc = &cachev1alpha1.Memcached{}
			if err := d.k8s.Get(ctx, sampleKey, d.mc); err != nil {
				return "", err
			}
			missing := readyWith(d.mc, size)
			for _, check := range checks {
				more, err := check(ctx)
				if err != nil {
					return "", err
				}
				missing = cmp.Or(missing, more)
			}
			return missing, nil
		})
	}
}
