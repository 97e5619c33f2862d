// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// answer is the difference that remained after a write, because a webhook changed the object or the API server rounded a value.
// The same write would leave the same difference again.
type answer struct {
	uid               types.UID
	hash, fingerprint string
	// surplus is what the written object has below owned fields and the rendering lacks, or nil.
	surplus *typed.TypedValue
}

// answers remembers, for each object, the difference that its last write left.
type answers struct {
	history[answer]

	differ differ
}

// futile reports whether an earlier write of the same content left the difference that exists now.
func (a *answers) futile(live client.Object, rendered rendering, found difference) bool {
	known, ok := a.get(live)
	return ok && !found.none() &&
		known.uid == live.GetUID() && known.hash == rendered.hash && known.fingerprint == found.fingerprint
}

// explain reports whether the last recorded answer already contained all of left, a surplus.
func (a *answers) explain(live client.Object, left *typed.TypedValue) bool {
	known, _ := a.get(live)
	return known.uid == live.GetUID() && keeps(known.surplus, left)
}

// record records how the object that the API server returned after a write differs from the rendering that was sent. Without a
// difference, it forgets the object's last answer.
func (a *answers) record(live client.Object, rendered rendering) {
	found, err := a.differ.compare(live, rendered)
	if err != nil || found.none() {
		a.forget(live)
		return
	}
	a.set(live, answer{live.GetUID(), rendered.hash, found.fingerprint, found.surplus})
}
