// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import "time"

// Paths that a launcher serves.
const (
	// StatusPath has a Status as JSON.
	StatusPath = "/status"
	// ReadyPath succeeds if memcached answers.
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
