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
	// part is what was written.
	part Part
}

// answers remembers how the API server answered writes.
type answers struct {
	history[answer]

	differ differ
}

// futile reports whether a write of a part of what was rendered was once answered with the difference that is there now.
func (a *answers) futile(live client.Object, rendered *unstructured.Unstructured, part Part, found difference) bool {
	known, ok := a.get(live)
	return ok && !found.none() && known == answer{live.GetUID(), a.differ.hashOf(rendered), found.fingerprint, part}
}

// record remembers what the answer to a write lacks of the part that was written.
func (a *answers) record(live client.Object, rendered *unstructured.Unstructured, part Part) {
	found, err := a.differ.compare(live, a.differ.wanted(rendered, part))
	if err != nil || found.none() {
		a.forget(live)
		return
	}
	a.set(live, answer{live.GetUID(), a.differ.hashOf(rendered), found.fingerprint, part})
}
