// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package await waits for something to come true in a cluster. It watches to learn when to look again and decides on what
// it then reads, so it neither polls nor depends on the order of events.
package await

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watchRetry is the pause before a watch that ended or could not be started is started again.
const watchRetry = 200 * time.Millisecond

// Check reads the cluster and returns what is still missing, in words, or nothing when all of it has come true. An error
// counts as missing: the next look may succeed.
type Check func(ctx context.Context) (missing string, err error)

// Until returns nil as soon as the check has nothing missing. It looks at once and after each change of the watched kinds,
// which the options narrow down. When the context ends first, the error says why it ended and what was missing.
func Until(
	ctx context.Context, c client.WithWatch, check Check, kinds []client.ObjectList, opts ...client.ListOption,
) error {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := make(chan struct{}, 1)
	for _, kind := range kinds {
		go follow(watching, c, kind, changed, opts)
	}
	missing := ""
	for {
		now, err := check(ctx)
		switch {
		case ctx.Err() != nil:
			// A look that was cut short says less than the one before.
		case err != nil:
			missing = err.Error()
		case now == "":
			return nil
		default:
			missing = now
		}
		select {
		case <-ctx.Done():
			if missing == "" {
				return context.Cause(ctx)
			}
			return fmt.Errorf("%s: %w", missing, context.Cause(ctx))
		case <-changed:
		}
	}
}

// follow reports each change of one kind until the context ends. Starting a watch reports one as well, since there may
// have been changes that no watch has seen.
func follow(
	ctx context.Context, c client.WithWatch, kind client.ObjectList, changed chan<- struct{}, opts []client.ListOption,
) {
	for ctx.Err() == nil {
		if w, err := c.Watch(ctx, kind, opts...); err == nil {
			report(changed)
			for range w.ResultChan() {
				report(changed)
			}
			w.Stop()
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchRetry):
		}
	}
}

// report leaves word that there is something new to look at; once is enough.
func report(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default:
	}
}
