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
	// verifiedMove is the UID of the old workload in a move. It is set when the API server has confirmed that both cached
	// workloads are current.
	verifiedMove types.UID
	// verifiedArguments is the UID of the ConfigMap with memcached's arguments. It is set when this process has written the
	// ConfigMap, or the API server has confirmed that the cached one is current.
	verifiedArguments types.UID
	// running has the answers of nodes that already run with the new arguments of the current wave.
	running memcached.Answers
	// filled contains the UID of a node's pod if the node is known to have all items of the twin's node with the same number.
	filled map[types.UID]bool
	// unchangeable is the hash of a pod template whose resources the API server cannot give to running pods.
	unchangeable string
	// statusWrittenAt is when this process last wrote the status.
	statusWrittenAt time.Time
}
