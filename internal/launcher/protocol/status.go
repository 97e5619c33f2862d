// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import "time"

// Paths that a launcher serves.
const (
	// StatusPath returns the Status as JSON.
	StatusPath = "/status"
	// ReadyPath succeeds if memcached answers and is not being filled.
	ReadyPath = "/readyz"
	// LivePath succeeds if memcached accepts connections. It also succeeds during a restart.
	LivePath = "/livez"
)

// Status is the answer of a node's launcher. It contains no secrets.
type Status struct {
	// Hash is the hash of the List in effect, empty before the first start.
	Hash string `json:"hash"`
	// List is the text of the List in effect. It can replace a lost ConfigMap.
	List string `json:"list"`
	// Since is when the list came into effect in this container. It is absent during a restart.
	Since time.Time `json:"since,omitzero"`
	// SecondsInEffect is how long the list has been in effect by the launcher's clock, so that the reader need not compare clocks.
	SecondsInEffect int64 `json:"secondsInEffect"`
	// Restarting is the hash of the list that is coming into effect, or empty.
	Restarting string `json:"restarting,omitempty"`
	// Refused is the last list that memcached or the launcher did not accept. It stays until another list is in effect.
	Refused *Refusal `json:"refused,omitempty"`
	// Restart is the result of the last restart, or nil.
	Restart *Restart `json:"restart,omitempty"`
	// Fill is the progress of the copy from the Memcached in spec.fillFrom since memcached started, or nil if there is none.
	Fill *Fill `json:"fill,omitempty"`
}

// Refusal is a list that did not come into effect, and the reason.
type Refusal struct {
	Hash   string `json:"hash"`
	Reason string `json:"reason"`
}

// Restart describes a restart of memcached in its container.
type Restart struct {
	// ItemsBefore and ItemsAfter are the numbers of items before and after the restart, -1 if unknown.
	ItemsBefore int64 `json:"itemsBefore"`
	ItemsAfter  int64 `json:"itemsAfter"`
	// Seconds is how long memcached did not serve.
	Seconds float64 `json:"seconds"`
}

// FillState is the state of a copy from the twin.
type FillState string

const (
	// FillWaiting means that the copy waits until clients know the node and store new values in it.
	FillWaiting FillState = "Waiting"
	// FillCopying means that items are being copied.
	FillCopying FillState = "Copying"
	// FillDone means that the node has the items of its twin.
	FillDone FillState = "Done"
	// FillFailed means that the node serves without the items of its twin. The launcher tries again.
	FillFailed FillState = "Failed"
)

// Fill describes the copy of items from a twin.
type Fill struct {
	// From is the address of the twin.
	From  string    `json:"from"`
	State FillState `json:"state"`
	// Items and Bytes count what was copied. Present counts items that the node already had. Refused counts items that the node
	// could not store.
	Items   int64 `json:"items"`
	Bytes   int64 `json:"bytes"`
	Present int64 `json:"present"`
	Refused int64 `json:"refused,omitempty"`
	// Seconds is the time of the copy so far.
	Seconds float64 `json:"seconds"`
	// Reason is why the copy failed.
	Reason string `json:"reason,omitempty"`
}

// Open reports whether the node is not ready because its copy has not ended.
func (f *Fill) Open() bool { return f != nil && (f.State == FillWaiting || f.State == FillCopying) }
