// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "context"

// stage is where the story plays: a cluster, and the operator in it.
type stage interface {
	// name says what kind of cluster it is.
	name() string
	// opening are the first chapters of the story, after which the operator runs and the clients of the demo are connected.
	opening() []chapter
	// watch calls fail when the cluster or the operator can no longer make anything come true, until the context ends.
	watch(ctx context.Context, fail func(error))
	// servesData says whether real memcached answers.
	servesData() bool
	// operatorLog is the end of what the operator has logged, and empty before it has started.
	operatorLog(ctx context.Context) string
	// stay tells the user what to do with the cluster and returns on Ctrl-C.
	stay(ctx context.Context, d *demo) error
	// stop ends what the stage has started.
	stop() error
}
