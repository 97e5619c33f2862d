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

// ArgumentsSuffix is appended to a Memcached's name to form the name of the ConfigMap with its Arguments.
const ArgumentsSuffix = "-arguments"

// Arguments are the argument lists for the nodes of a StatefulSet. Launchers read them from a ConfigMap: see ADR-0016.
type Arguments struct {
	// Lists maps the hash of each argument list to the list.
	Lists map[string]protocol.List
	// Sections says which list each node must run. The keys are hashes of pod templates. A launcher reads only the section of the
	// template from which its pod was created.
	Sections map[string]protocol.Section
	// Twin is the Memcached from which empty nodes copy items, or nil.
	Twin *protocol.Twin
}

// Arguments returns what the ConfigMap in the cluster contains. It leaves out invalid values, lists that do not match the hash in
// their key, and nodes whose list is missing.
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

// ArgumentsObject returns the ConfigMap with the Memcached's argument lists, or nil.
func (v View) ArgumentsObject() *corev1.ConfigMap {
	for _, child := range v.Children {
		config, ok := child.(*corev1.ConfigMap)
		if ok && config.Name == v.Memcached.Name+ArgumentsSuffix && ours(config, v) {
			return config
		}
	}
	return nil
}

// ours reports whether a ConfigMap belongs to the Memcached. Either the Memcached controls it, or it has no controller and the
// operator has written it.
func ours(config *corev1.ConfigMap, v View) bool {
	owner := metav1.GetControllerOfNoCopy(config)
	return owner == nil && config.Annotations[AppliedHashAnnotation] != "" || owner != nil && owner.UID == v.Memcached.UID
}

// Data returns the arguments as the data of a ConfigMap.
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

// Answer is the answer of a node's launcher, or the reason why there is none.
type Answer struct {
	protocol.Status

	// Failure is why the launcher did not answer, or empty.
	Failure string
}

// Answers maps the UID of a pod to the answer of its launcher.
type Answers map[types.UID]Answer

// Ordinal returns the number at the end of a pod's name, and false if there is none.
func Ordinal(pod *corev1.Pod) (int, bool) {
	ordinal, err := strconv.Atoi(pod.Name[strings.LastIndex(pod.Name, "-")+1:])
	return ordinal, err == nil
}
