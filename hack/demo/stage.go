// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "context"

// Every stage ends the story with the same suggestions.
const (
	whatNext    = "The story is told. The cluster and the operator stay until Ctrl-C. In another terminal, try:"
	suggestions = `
kubectl apply -f ` + sampleFile + `
kubectl get memc --watch
kubectl scale ` + sampleCommand + ` --replicas 4
kubectl describe ` + sampleCommand + `
kubectl explain memc.spec`
)

// stage is the cluster of the story, and the operator in it.
type stage interface {
	// name describes the cluster.
	name() string
	// opening are the first chapters of the story, after which the operator runs and the clients of the demo are connected.
	opening() []chapter
	// watch calls fail when the cluster or the operator has ended, until the context ends.
	watch(ctx context.Context, fail func(error))
	// servesData reports whether real memcached answers.
	servesData() bool
	// operatorLog is the end of the operator's log, and empty before it has started.
	operatorLog(ctx context.Context) string
	// stay suggests what to do with the cluster and returns on Ctrl-C.
	stay(ctx context.Context, d *demo) error
	// stop ends everything that the stage has started.
	stop() error
}
