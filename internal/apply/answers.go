// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// answer is how an object differed from what had just been written: a webhook changes it, or the API server rounds a value. To
// write it again would change nothing.
type answer struct {
	uid               types.UID
	hash, fingerprint string
	// partial reports that the write left the separable fields as they were.
	partial bool
}

// answers remembers how the API server answered writes.
type answers struct {
	history[answer]

	differ differ
}

// futile reports whether a write of all that was rendered, or of a part, was once answered with the difference that is there now.
func (a *answers) futile(live client.Object, rendered *unstructured.Unstructured, partial bool, found difference) bool {
	known, ok := a.get(live)
	return ok && !found.none() && known == answer{live.GetUID(), a.differ.hashOf(rendered), found.fingerprint, partial}
}

// record remembers what the answer to a write lacks of what was rendered, or of the part that was written.
func (a *answers) record(live client.Object, rendered *unstructured.Unstructured, partial bool) {
	found, err := a.differ.compare(live, a.differ.wanted(rendered, partial))
	if err != nil || found.none() {
		a.forget(live)
		return
	}
	a.set(live, answer{live.GetUID(), a.differ.hashOf(rendered), found.fingerprint, partial})
}
