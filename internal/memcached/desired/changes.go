// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// changesOf names what would change about the live workload, by the fields of the Memcached. What they do not explain is not named.
func changesOf(v memcached.View, wanted *corev1.PodTemplateSpec) []string {
	mc, live, former := v.Memcached, v.Workload, v.Former
	if former != nil {
		changes := []string{fmt.Sprintf("workload %s to %s", former.Kind, memcached.WorkloadKind(mc))}
		if live != nil {
			return append(changes, templateChanges(mc, live.Template, wanted)...)
		}
		// The default constraints of each Kind are others.
		return append(changes, slices.DeleteFunc(templateChanges(mc, former.Template, wanted), func(change string) bool {
			return change == spreadConstraintsField
		})...)
	}
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

const spreadConstraintsField = "scheduling.topologySpreadConstraints"

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
	config := append(configChanges(mc, was, is, hasAgent(live)), credentialChanges(live, wanted)...)
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
		{spreadConstraintsField, equal(live.Spec.TopologySpreadConstraints, wanted.Spec.TopologySpreadConstraints)},
		{"scheduling.priorityClassName", live.Spec.PriorityClassName == wanted.Spec.PriorityClassName},
		{"podMetadata", containsAll(live.Labels, wanted.Labels) && containsAll(live.Annotations, render.Annotations(mc.Spec.PodMetadata))},
		{"gracefulShutdown", equal(was.Lifecycle, is.Lifecycle)},
		{"monitoring", !monitoringChange(mc, live, wanted)},
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

// hasAgent reports whether an agent observes memcached.
func hasAgent(template *corev1.PodTemplateSpec) bool {
	return slices.ContainsFunc(template.Spec.InitContainers, isAgent)
}

func isAgent(container corev1.Container) bool { return container.Name == memcached.AgentContainerName }

// agentHas reports whether the agent has an argument.
func agentHas(template *corev1.PodTemplateSpec, argument string) bool {
	return slices.ContainsFunc(template.Spec.InitContainers, func(container corev1.Container) bool {
		return isAgent(container) && slices.Contains(container.Args, argument)
	})
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

// monitoringChange reports whether an agent comes or goes with spec.monitoring, as far as that can be known: one that has handed over
// credentials may have been wanted for that alone.
func monitoringChange(mc *cachev1alpha1.Memcached, live, wanted *corev1.PodTemplateSpec) bool {
	switch {
	case hasAgent(live) == hasAgent(wanted):
		return false
	case hasAgent(wanted):
		return mc.Spec.Monitoring.Enabled
	default:
		was := optionsOf(memcachedOf(live).Args)
		return was["-Z"] == "" && was["-Y"] == ""
	}
}

// credentialChanges names the fields about certificates and users of which memcached or the agent would see something.
func credentialChanges(live, wanted *corev1.PodTemplateSpec) []string {
	before, after := optionsOf(memcachedOf(live).Args), optionsOf(memcachedOf(wanted).Args)
	var changes []string
	if before["-Z"] != after["-Z"] || before["-l"] != after["-l"] || tlsPart(before) != tlsPart(after) ||
		secretOf(live, tlsSecretVolume) != secretOf(wanted, tlsSecretVolume) ||
		agentHas(live, restartForAuthorities) != agentHas(wanted, restartForAuthorities) {
		changes = append(changes, "tls")
	}
	if before["-Y"] != after["-Y"] || secretOf(live, usersSecretVolume) != secretOf(wanted, usersSecretVolume) ||
		agentHas(live, restartForUsers) != agentHas(wanted, restartForUsers) {
		changes = append(changes, "auth")
	}
	return changes
}

// secretOf is the name of the Secret in a volume, empty if there is none.
func secretOf(template *corev1.PodTemplateSpec, volume string) string {
	for _, found := range template.Spec.Volumes {
		if found.Name != volume || found.Projected == nil {
			continue
		}
		for _, source := range found.Projected.Sources {
			if source.Secret != nil {
				return source.Secret.Name
			}
		}
	}
	return ""
}

// configChanges names the fields of the configuration that differ between the arguments of memcached, which had an agent or not.
func configChanges(mc *cachev1alpha1.Memcached, was, is corev1.Container, agent bool) []string {
	before, after := optionsOf(was.Args), optionsOf(is.Args)
	threads, _ := strconv.Atoi(before["-t"])
	asBefore := sizingOf(mc)
	asBefore.agent = agent
	asBefore.tls, asBefore.plaintext = before["-Z"] != "", strings.Contains(before["-l"], "*:"+strconv.Itoa(port))
	asBefore.credentials = asBefore.tls || before["-Y"] != ""
	asBefore.threads = int32(threads) //nolint:gosec // at most 64
	cpuLimit := mc.Spec.Config.Threads == 0 && !was.Resources.Limits.Cpu().Equal(*is.Resources.Limits.Cpu())
	computedTimeout := mc.Spec.Config.IdleTimeout == nil && asBefore.credentials != (after["-Z"] != "" || after["-Y"] != "")
	var changes []string
	for _, field := range []struct {
		name      string
		unchanged bool
	}{
		{"config.memory", before["-m"] == after["-m"]},
		{"config.maxConnections", before["-c"] == strconv.Itoa(int(asBefore.connectionLimit()))},
		{"config.threads", before["-t"] == after["-t"] || cpuLimit},
		{"config.maxItemSize", before["-I"] == after["-I"]},
		{"config.idleTimeout", idleTimeout(before) == idleTimeout(after) || computedTimeout},
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
