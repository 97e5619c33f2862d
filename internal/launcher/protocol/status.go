// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import "time"

// Paths that a launcher serves.
const (
	// StatusPath has a Status as JSON.
	StatusPath = "/status"
	// ReadyPath succeeds if memcached answers, and is not about to be filled.
	ReadyPath = "/readyz"
	// LivePath succeeds if memcached accepts connections, and also while it is being restarted.
	LivePath = "/livez"
)

// Status is what a launcher answers. It contains nothing that is secret.
type Status struct {
	// Hash is that of the list in effect, empty before the first start.
	Hash string `json:"hash"`
	// List is the text of the list in effect, so that a lost ConfigMap can be written again.
	List string `json:"list"`
	// Since is when the list came into effect in this container. Absent while memcached is restarted.
	Since time.Time `json:"since,omitzero"`
	// SecondsInEffect is for how long that has been, by the launcher's own clock: nobody needs to compare clocks.
	SecondsInEffect int64 `json:"secondsInEffect"`
	// Restarting is the hash of the list that is being brought into effect, empty at rest.
	Restarting string `json:"restarting,omitempty"`
	// Refused is the last list that memcached or the launcher did not accept, until another one is in effect.
	Refused *Refusal `json:"refused,omitempty"`
	// Restart is how the last restart went. Nil before the first one.
	Restart *Restart `json:"restart,omitempty"`
	// Fill is what memcached gets from its twin since its start. Nil if there is no twin.
	Fill *Fill `json:"fill,omitempty"`
}

// Refusal is why a list is not in effect.
type Refusal struct {
	Hash   string `json:"hash"`
	Reason string `json:"reason"`
}

// Restart is how a restart of memcached in its container went.
type Restart struct {
	// ItemsBefore is the number of items before the restart, and ItemsAfter of those after it. -1 is unknown.
	ItemsBefore int64 `json:"itemsBefore"`
	ItemsAfter  int64 `json:"itemsAfter"`
	// Seconds is for how long memcached did not serve.
	Seconds float64 `json:"seconds"`
}

// FillState is how far a node is with what it gets from its twin.
type FillState string

const (
	// FillWaiting says that the node serves, and waits until clients know that: what they store from then on, it has.
	FillWaiting FillState = "Waiting"
	// FillCopying says that items are being copied.
	FillCopying FillState = "Copying"
	// FillDone says that the node has what its twin had.
	FillDone FillState = "Done"
	// FillFailed says that it has not, and serves without. It tries again.
	FillFailed FillState = "Failed"
)

// Fill is what a node gets from its twin.
type Fill struct {
	// From is the address of the twin.
	From  string    `json:"from"`
	State FillState `json:"state"`
	// Items and Bytes are what was copied, Present how many items the node had already, and Refused those that it has no place for.
	Items   int64 `json:"items"`
	Bytes   int64 `json:"bytes"`
	Present int64 `json:"present"`
	Refused int64 `json:"refused,omitempty"`
	// Seconds is how long the copy took, or has taken so far.
	Seconds float64 `json:"seconds"`
	// Reason is why it has failed.
	Reason string `json:"reason,omitempty"`
}

// Open reports whether the node is not ready, because it is about to be filled.
func (f *Fill) Open() bool { return f != nil && (f.State == FillWaiting || f.State == FillCopying) }
