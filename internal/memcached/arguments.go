// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/internal/agent/protocol"
)

// ArgumentsSuffix is appended to a Memcached's name to form the name of the ConfigMap with the entries for parents: see ADR-0016. It
// exists only while there are entries.
const ArgumentsSuffix = "-arguments"

// ArgumentsObject returns the ConfigMap with the entries, or nil.
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

// Entries returns the entries in the cluster by the names of the nodes. It leaves out what the operator would never write.
func (v View) Entries() map[string]protocol.Entry {
	found := map[string]protocol.Entry{}
	config := v.ArgumentsObject()
	if config == nil {
		return found
	}
	for key, text := range config.Data {
		if entry, err := protocol.ParseEntry(text); err == nil {
			found[key] = entry
		}
	}
	return found
}

// FirstList returns the arguments with which a pod starts memcached for the first time, according to the flags of its parent.
func FirstList(pod *corev1.Pod) protocol.List {
	container := ContainerOf(&pod.Spec, ContainerName)
	if container == nil {
		return protocol.List{}
	}
	var list protocol.List
	for i, argument := range container.Args {
		if target, ok := strings.CutPrefix(argument, targetFlag); ok {
			list.Target = target
		}
		if restart, ok := strings.CutPrefix(argument, restartFlag); ok {
			list.Restart = restart
		}
		if argument == "--" {
			list.Arguments = strings.Join(container.Args[i+1:], " ")
			break
		}
	}
	return list
}

const (
	targetFlag   = "--target="
	restartFlag  = "--restart="
	fillFromFlag = "--fill-from="
)

// NodeArgs returns the flags of memcached's parent whose pod starts with this list, and fills from hosts of these patterns. $(POD_UID) is
// an environment variable of the container.
func NodeArgs(list protocol.List, fillFrom []string) []string {
	args := []string{"--pod=$(POD_UID)", targetFlag + list.Target}
	if len(fillFrom) > 0 {
		args = append(args, fillFromFlag+strings.Join(fillFrom, ","))
	}
	if list.Restart != "" {
		args = append(args, restartFlag+list.Restart)
	}
	return append(append(args, "--"), list.Fields()...)
}

// Ordinal returns the number at the end of a pod's name, and false if there is none.
func Ordinal(pod *corev1.Pod) (int, bool) {
	ordinal, err := strconv.Atoi(pod.Name[strings.LastIndex(pod.Name, "-")+1:])
	return ordinal, err == nil
}
