// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/internal/memcached"
)

// instanceState is what this process remembers of a Memcached.
type instanceState struct {
	// verifiedMove identifies a move whose two workloads the API server has confirmed, by the UID of the workload that nodes leave.
	verifiedMove types.UID
	// verifiedArguments is the UID of the arguments' ConfigMap that the API server has confirmed.
	verifiedArguments types.UID
	// running are the nodes that are known to run with the arguments of the current wave.
	running memcached.Answers
	// filled are the nodes that are known to have the items of their twin.
	filled map[types.UID]bool
	// unchangeable is the hash of the template that the API server cannot change pods to.
	unchangeable string
	// statusWrittenAt is when this process last wrote the status.
	statusWrittenAt time.Time
}
