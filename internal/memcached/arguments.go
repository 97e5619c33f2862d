// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// ArgumentsSuffix comes after the name of the Memcached in the name of the ConfigMap with the arguments of its nodes.
const ArgumentsSuffix = "-arguments"

// Arguments are what the launchers of a StatefulSet's pods run memcached with: see ADR-0016.
type Arguments struct {
	// Lists are the lists of arguments by their hashes.
	Lists map[string]protocol.List
	// Sections say for each pod template which list each node runs.
	Sections map[string]protocol.Section
	// Twin is from where empty nodes fill themselves, nil if they do not.
	Twin *protocol.Twin
}

// Arguments are those in the cluster. They leave out what somebody else has written: a list with another hash than its key says, or an
// entry without a list.
func (v View) Arguments() Arguments {
	found := Arguments{Lists: map[string]protocol.List{}, Sections: map[string]protocol.Section{}}
	data := v.argumentsData()
	for key, text := range data {
		hash, ok := protocol.ListHash(key)
		if list, err := protocol.ParseList(text); ok && err == nil && list.Hash() == hash {
			found.Lists[hash] = list
		}
	}
	if twin, err := protocol.ParseTwin(data[protocol.TwinKey]); err == nil {
		found.Twin = &twin
	}
	for key, text := range data {
		template, ok := protocol.SectionTemplate(key)
		section, err := protocol.ParseSection(text)
		if !ok || err != nil {
			continue
		}
		for ordinal, hash := range section.Nodes {
			if _, known := found.Lists[hash]; !known {
				delete(section.Nodes, ordinal)
			}
		}
		found.Sections[template] = section
	}
	return found
}

func (v View) argumentsData() map[string]string {
	if found := v.ArgumentsObject(); found != nil {
		return found.Data
	}
	return nil
}

// ArgumentsObject is the ConfigMap with the arguments, nil if there is none that belongs to the Memcached.
func (v View) ArgumentsObject() *corev1.ConfigMap {
	for _, child := range v.Children {
		config, ok := child.(*corev1.ConfigMap)
		if ok && config.Name == v.Memcached.Name+ArgumentsSuffix && ours(config, v) {
			return config
		}
	}
	return nil
}

// ours reports whether an object belongs to the Memcached, or was left behind by an earlier one of its name.
func ours(config *corev1.ConfigMap, v View) bool {
	owner := metav1.GetControllerOfNoCopy(config)
	return owner == nil && config.Annotations[AppliedHashAnnotation] != "" || owner != nil && owner.UID == v.Memcached.UID
}

// Data are the arguments as the content of a ConfigMap.
func (a Arguments) Data() map[string]string {
	data := map[string]string{}
	for hash, list := range a.Lists {
		data[protocol.ListKey(hash)] = list.String()
	}
	for template, section := range a.Sections {
		data[protocol.SectionKey(template)] = section.String()
	}
	if a.Twin != nil {
		data[protocol.TwinKey] = a.Twin.String()
	}
	return data
}

// Answer is what the launcher of a node has answered.
type Answer struct {
	protocol.Status

	// Failure is why there is no answer, empty if there is one.
	Failure string
}

// Answers are those of launchers, by the UID of the pod.
type Answers map[types.UID]Answer

// Ordinal is the number of a pod of a StatefulSet.
func Ordinal(pod *corev1.Pod) (int, bool) {
	ordinal, err := strconv.Atoi(pod.Name[strings.LastIndex(pod.Name, "-")+1:])
	return ordinal, err == nil
}
