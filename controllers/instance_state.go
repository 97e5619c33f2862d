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
	// verifiedMove is the UID of the workload that nodes leave in a move, set after the API server has confirmed that both cached
	// workloads are current.
	verifiedMove types.UID
	// verifiedArguments is the UID of the ConfigMap with arguments, set after the API server has confirmed that it is current.
	verifiedArguments types.UID
	// running are the answers of nodes that run with the arguments of the current wave.
	running memcached.Answers
	// filled are the nodes that are known to have all items of their twin's node.
	filled map[types.UID]bool
	// unchangeable is the hash of a template for which the API server refused to change pods in place.
	unchangeable string
	// statusWrittenAt is when this process last wrote the status.
	statusWrittenAt time.Time
}
