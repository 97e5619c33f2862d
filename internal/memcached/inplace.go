// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"encoding/json"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// InPlace is the progress of pods of a StatefulSet that change in place: see ADR-0017.
type InPlace struct {
	// Open reports that pods change in place to match a new template. Meanwhile the controller of the StatefulSet replaces none.
	Open bool
	// Done is how many match it.
	Done int32
	// Patch is the next step, nil if there is none now.
	Patch *PodPatch
	// Blocked says what the next step waits for if somebody may have to help, else it is empty.
	Blocked string
	// Problem is what the cluster refused to a pod, which keeps its former images and resources.
	Problem *Problem
}

// PodPatch is a change of one pod. Only what is set changes.
type PodPatch struct {
	Pod *corev1.Pod
	// Images and Resources are those of containers by their names.
	Images    map[string]string
	Resources map[string]corev1.ResourceRequirements
	// Revision is the label with which the StatefulSet counts a pod as updated.
	Revision string
	// Annotations are those that are set, or removed if the value is empty.
	Annotations map[string]string
}

// InPlaceState is the content of the annotation of a pod that is being changed in place.
type InPlaceState struct {
	// Template is the hash of the template that the pod is to match.
	Template string `json:"template"`
	// Former are the former images of the containers whose image has changed, and Restarts how often these had restarted before.
	Former   map[string]string `json:"former,omitempty"`
	Restarts map[string]int32  `json:"restarts,omitempty"`
	// Refused is why the pod got its former images and resources back, and Reason the reason of the condition for that.
	Refused string `json:"refused,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// InPlaceStateOf is the state of a pod; false if it is not being changed.
func InPlaceStateOf(pod *corev1.Pod) (state InPlaceState, begun bool) {
	text, begun := pod.Annotations[InPlaceAnnotation]
	if !begun || json.Unmarshal([]byte(text), &state) != nil {
		return InPlaceState{}, begun
	}
	return state, true
}

// String is the state as the annotation has it.
func (s InPlaceState) String() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // it has strings and numbers only
	}
	return string(text)
}

// templateArgument tells the launcher which section of the arguments to read. It cannot change in a pod.
const templateArgument = "--template="

// SectionOf names the section of the arguments that the launcher of a pod reads: that of the template that the pod was made from.
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

// ContainerOf is the container of a name, nil if there is none. Init containers are among them.
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

// StatusOf is the status of a container, nil if there is none, or none that says anything.
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

// PullFailure is why the image of a container cannot be pulled, empty if that is not so. The text is the same while the kubelet pulls and
// while it backs off.
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

// backOff is what the kubelet puts before the cause while it does not try (pkg/kubelet/images/image_manager.go).
var backOff = regexp.MustCompile(`^Back-off pulling image "[^"]*": \w+: `)
