// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package await waits for a condition in a cluster. The first check runs at once. Events of a watch trigger the later checks, so a wait
// needs no polling. Each check reads the cluster itself, so the order of the events does not matter.
package await

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watchRetry is the pause before a failed or ended watch starts again.
const watchRetry = 200 * time.Millisecond

// Check reads the cluster, and returns what is still missing, or an empty string if the condition is true. An error counts as
// missing, because the next check may succeed.
type Check func(ctx context.Context) (missing string, err error)

// Until returns nil as soon as the check finds nothing missing. It checks at once, and after each change of the watched kinds. The
// options restrict the watched objects. If the context ends first, the error contains the context's cause and what was missing.
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
			// The result of the previous check says more about what is missing than the error of a canceled check.
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

// follow reports each change of one kind until the context ends. It also reports the start of a watch, because something may have
// changed while there was no watch.
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

// report signals a change. If a signal is already pending, it does nothing.
func report(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default:
	}
}
