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

// ArgumentsSuffix ends the name of the ConfigMap that holds the arguments of a Memcached's nodes.
const ArgumentsSuffix = "-arguments"

// Arguments are the arguments of memcached for the nodes of a StatefulSet. Launchers read them: see ADR-0016.
type Arguments struct {
	// Lists maps the hash of a list of arguments to that list.
	Lists map[string]protocol.List
	// Sections maps the hash of each pod template to its section, which says which list each node of the template runs.
	Sections map[string]protocol.Section
	// Twin is where empty nodes copy their items from, or nil.
	Twin *protocol.Twin
}

// Arguments returns the arguments in the cluster. It leaves out a list that does not match its hash, and a node whose list is
// missing.
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

// ArgumentsObject returns the Memcached's ConfigMap with the arguments, or nil.
func (v View) ArgumentsObject() *corev1.ConfigMap {
	for _, child := range v.Children {
		config, ok := child.(*corev1.ConfigMap)
		if ok && config.Name == v.Memcached.Name+ArgumentsSuffix && ours(config, v) {
			return config
		}
	}
	return nil
}

// ours reports whether the Memcached, or an earlier one of the same name, owns a ConfigMap.
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

// Answer is the answer of a node's launcher.
type Answer struct {
	protocol.Status

	// Failure is why there is no answer; empty if there is one.
	Failure string
}

// Answers are the answers of launchers by the UID of their pod.
type Answers map[types.UID]Answer

// Ordinal returns the number in the name of a StatefulSet's pod.
func Ordinal(pod *corev1.Pod) (int, bool) {
	ordinal, err := strconv.Atoi(pod.Name[strings.LastIndex(pod.Name, "-")+1:])
	return ordinal, err == nil
}
