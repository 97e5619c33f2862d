// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// changesOf names what would change about a live workload, by the fields of the Memcached. What they do not explain is not named.
func changesOf(mc *cachev1alpha1.Memcached, live *memcached.Workload, wanted *corev1.PodTemplateSpec) []string {
	if live == nil {
		return nil
	}
	var changes []string
	if live.Size != mc.Spec.Size {
		changes = append(changes, fmt.Sprintf("size %d to %d", live.Size, mc.Spec.Size))
	}
	changes = append(changes, templateChanges(mc, live.Template, wanted)...)
	if strategyDiffers(mc, live) {
		changes = append(changes, "updateStrategy")
	}
	return changes
}

// strategyDiffers reports whether nodes would be replaced in another way, and not only because defaults depend on the size.
func strategyDiffers(mc *cachev1alpha1.Memcached, live *memcached.Workload) bool {
	mc = mc.DeepCopy()
	mc.Spec.Size = live.Size
	surge, unavailable := updateLimits(mc)
	return surge != live.MaxSurge || unavailable != live.MaxUnavailable ||
		mc.Spec.UpdateStrategy.MinReadySeconds != live.MinReadySeconds
}

func templateChanges(mc *cachev1alpha1.Memcached, live, wanted *corev1.PodTemplateSpec) []string {
	was, is := memcachedOf(live), memcachedOf(wanted)
	config := configChanges(mc, was, is)
	var changes []string
	for _, field := range []struct {
		name      string
		unchanged bool
	}{
		{"image", was.Image == is.Image},
		{"imagePullPolicy", was.ImagePullPolicy == is.ImagePullPolicy},
		{"imagePullSecrets", equal(live.Spec.ImagePullSecrets, wanted.Spec.ImagePullSecrets)},
		{"resources", !resourcesChange(mc, was.Resources, is.Resources, config)},
		{"scheduling.nodeSelector", equal(live.Spec.NodeSelector, wanted.Spec.NodeSelector)},
		{"scheduling.tolerations", equal(live.Spec.Tolerations, wanted.Spec.Tolerations)},
		{"scheduling.affinity", equal(live.Spec.Affinity, wanted.Spec.Affinity)},
		{"scheduling.topologySpreadConstraints", equal(live.Spec.TopologySpreadConstraints, wanted.Spec.TopologySpreadConstraints)},
		{"scheduling.priorityClassName", live.Spec.PriorityClassName == wanted.Spec.PriorityClassName},
		{"podMetadata", containsAll(live.Labels, wanted.Labels) && containsAll(live.Annotations, annotationsOf(mc.Spec.PodMetadata))},
		{"gracefulShutdown", equal(was.Lifecycle, is.Lifecycle)},
		{"restartedAt", live.Annotations[restartedAtAnnotation] == wanted.Annotations[restartedAtAnnotation]},
	} {
		if !field.unchanged {
			changes = append(changes, field.name)
		}
	}
	return append(changes, config...)
}

// memcachedOf is the container that runs memcached, an empty one if somebody has removed it.
func memcachedOf(template *corev1.PodTemplateSpec) corev1.Container {
	for _, container := range template.Spec.Containers {
		if container.Name == memcached.ContainerName {
			return container
		}
	}
	return corev1.Container{}
}

// resourcesChange reports whether the resources change. A memory limit that is computed follows from the configuration, which has
// been named then.
func resourcesChange(mc *cachev1alpha1.Memcached, was, is corev1.ResourceRequirements, config []string) bool {
	if _, given := givenMemoryLimit(mc); !given && len(config) > 0 {
		was, is = *was.DeepCopy(), *is.DeepCopy()
		for _, list := range []corev1.ResourceList{was.Limits, was.Requests, is.Limits, is.Requests} {
			delete(list, corev1.ResourceMemory)
		}
	}
	return !equal(was, is)
}

// configChanges names the fields of the configuration that differ between the arguments of memcached.
func configChanges(mc *cachev1alpha1.Memcached, was, is corev1.Container) []string {
	before, after := optionsOf(was.Args), optionsOf(is.Args)
	threads, _ := strconv.Atoi(before["-t"])
	asBefore := sizingOf(mc)
	asBefore.threads = int32(threads) //nolint:gosec // at most 64
	cpuLimit := mc.Spec.Config.Threads == 0 && !was.Resources.Limits.Cpu().Equal(*is.Resources.Limits.Cpu())
	var changes []string
	for _, field := range []struct {
		name      string
		unchanged bool
	}{
		{"config.memory", before["-m"] == after["-m"]},
		{"config.maxConnections", before["-c"] == strconv.Itoa(int(asBefore.connectionLimit()))},
		{"config.threads", before["-t"] == after["-t"] || cpuLimit},
		{"config.maxItemSize", before["-I"] == after["-I"]},
		{"config.idleTimeout", idleTimeout(before) == idleTimeout(after)},
		{"config.verbosity", before["-v"] == after["-v"]},
		{"config.flushAll", before["-F"] == after["-F"]},
		{"config.dump", before["-X"] == after["-X"]},
	} {
		if !field.unchanged {
			changes = append(changes, field.name)
		}
	}
	return changes
}

// equal reports whether two parts of a template mean the same: the API server adds no defaults to those that are compared.
func equal(live, wanted any) bool { return equality.Semantic.DeepEqual(live, wanted) }

// containsAll reports whether a map has all of another's entries. It may have more: somebody else's.
func containsAll(live, wanted map[string]string) bool {
	for key, value := range wanted {
		if found, ok := live[key]; !ok || found != value {
			return false
		}
	}
	return true
}
