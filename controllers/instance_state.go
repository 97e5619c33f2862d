// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/internal/memcached"
)

// instanceState is what this process remembers of a Memcached.
type instanceState struct {
	// verifiedTwins holds the UIDs of twins whose cached StatefulSet and arguments the API server has confirmed.
	verifiedTwins map[types.UID]bool
	// verifiedArguments is the UID of the ConfigMap with memcached's arguments. It is set when this process has written the ConfigMap, or when
	// the API server has confirmed that the cached one is current.
	verifiedArguments types.UID
	// running holds the answers of launchers that need not be asked again during a change of memcached's arguments (Plan.Wave): their
	// nodes already run with the new arguments.
	running memcached.Answers
	// filled holds the UIDs of pods that have all items of the twin's node, as their launchers have reported. The twin's node is the
	// node with the same number in the Memcached that spec.fillFrom names.
	filled map[types.UID]bool
	// unchangeable is the hash of a pod template whose resources the API server cannot give to running pods.
	unchangeable string
	// statusWrittenAt is when this process last wrote the status.
	statusWrittenAt time.Time
	// corrections limits the events about corrections.
	corrections *rate.Limiter
}
