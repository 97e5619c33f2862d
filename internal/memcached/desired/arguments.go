// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/rollout"
)

// argumentsConfigMap returns the ConfigMap with the entries for parents, and with the twin from which empty nodes copy items. It is nil
// if there is nothing to tell them. An entry goes when another pod has the number of its pod.
func argumentsConfigMap(f *fleet) *corev1.ConfigMap {
	data := map[string]string{}
	for _, n := range f.nodes {
		entry, found := f.entries[n.ordinal]
		if found && (n.Pod != rollout.Present || entry.Pod == string(n.pod.UID)) {
			data[protocol.EntryKey(n.ordinal)] = entry.String()
		}
	}
	if twin := twinOf(f.v); twin != nil {
		data[protocol.TwinKey] = twin.String()
	}
	if len(data) == 0 {
		return nil
	}
	return role(f.v.Memcached).ConfigMap(memcached.ArgumentsSuffix, data)
}
