// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"encoding/json"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// InPlace is the progress of changing images and resources in the existing pods of a StatefulSet: see ADR-0017.
type InPlace struct {
	// Open reports that some pods still have to change. Meanwhile the StatefulSet's controller replaces no pods.
	Open bool
	// OtherImage reports that some nodes get another image of memcached. They keep items only in a file and with the same version.
	OtherImage bool
	// Done is the number of pods that match the new template.
	Done int32
	// Patch is the next step, or nil if there is none now.
	Patch *PodPatch
	// Blocked says what the next step waits for. It is set only if a person may have to act.
	Blocked string
	// Problem reports that the cluster refused to change a pod. The pod keeps its old images and resources.
	Problem *Problem
}

// PodPatch is a change of one pod. Empty fields change nothing.
type PodPatch struct {
	Pod *corev1.Pod
	// Images and Resources map names of containers to new values.
	Images    map[string]string
	Resources map[string]corev1.ResourceRequirements
	// Revision is the new value of the label controller-revision-hash, by which the StatefulSet's controller counts updated pods.
	Revision string
	// Annotations are the annotations to set. An empty value removes the annotation.
	Annotations map[string]string
}

// InPlaceState is the content of InPlaceAnnotation, which marks a pod that changes in place.
type InPlaceState struct {
	// Template is the hash of the pod template that the pod must match after the change.
	Template string `json:"template"`
	// Former maps the changed containers to their old images. Restarts maps them to their restart counts before the change, or to -1
	// if they were not running.
	Former   map[string]string `json:"former,omitempty"`
	Restarts map[string]int32  `json:"restarts,omitempty"`
	// Refused is why the change of this pod failed, or empty. Reason is the reason to report in the condition Degraded.
	Refused string `json:"refused,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// InPlaceStateOf returns the content of a pod's InPlaceAnnotation, and false if there is no such annotation. Invalid content counts
// as empty.
func InPlaceStateOf(pod *corev1.Pod) (state InPlaceState, begun bool) {
	text, begun := pod.Annotations[InPlaceAnnotation]
	if !begun || json.Unmarshal([]byte(text), &state) != nil {
		return InPlaceState{}, begun
	}
	return state, true
}

// String returns the content of the annotation.
func (s InPlaceState) String() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // impossible: s holds only strings and numbers
	}
	return string(text)
}

// templateArgument is the launcher's flag with the hash of a pod template. It selects a section of the ConfigMap.
const templateArgument = "--template="

// SectionOf returns the key of the section that a pod's launcher reads: the hash of the pod template from which the pod was created.
// After a change in place, the launcher still reads that section, because the flags of a running container cannot change.
func SectionOf(pod *corev1.Pod) string {
	if container := ContainerOf(&pod.Spec, ContainerName); container != nil {
		for _, argument := range container.Args {
			if section, ok := strings.CutPrefix(argument, templateArgument); ok {
				return section
			}
		}
	}
	return pod.Annotations[TemplateAnnotation]
}

// ContainerOf returns the container or init container of this name, or nil.
func ContainerOf(spec *corev1.PodSpec, name string) *corev1.Container {
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			if containers[i].Name == name {
				return &containers[i]
			}
		}
	}
	return nil
}

// StatusOf returns the status of a container or init container, or nil if there is none.
func StatusOf(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			if statuses[i].Name == name {
				return &statuses[i]
			}
		}
	}
	return nil
}

// PullFailure returns why the image of a container cannot be pulled, or "". The message stays the same while the kubelet tries again and
// again.
func PullFailure(container *corev1.ContainerStatus) string {
	if container == nil || container.State.Waiting == nil {
		return ""
	}
	waiting := container.State.Waiting
	switch waiting.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
		"RegistryUnavailable", "SignatureValidationFailed":
	default:
		return ""
	}
	if waiting.Message == "" {
		return waiting.Reason
	}
	return backOff.ReplaceAllLiteralString(waiting.Message, "")
}

// backOff matches the prefix that the kubelet adds to the cause while it waits for its next attempt
// (pkg/kubelet/images/image_manager.go).
var backOff = regexp.MustCompile(`^Back-off pulling image "[^"]*": \w+: `)
