// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/example/memcached-operator/internal/memcache"
)

// deafness is how long memcached may accept no connection.
const deafness = time.Minute

// watch ends a memcached that accepts no connections. A liveness probe could not do this: whoever can reach its port can make it fail, and
// a restart empties the node. The watch connects over the loopback address. The kernel accepts for memcached until the queue of
// connections is full, so clients that take all connections, slow threads and demands for a login are no evidence.
type watch struct {
	memcached string
	// deafAfter is how long memcached may accept nothing. interval is the pause between two questions, and the limit of each.
	deafAfter, interval time.Duration
	// deaf receives a value when memcached has accepted nothing for the time deafAfter.
	deaf chan struct{}
}

func newWatch(memcached string, deafAfter time.Duration) watch {
	deafAfter = cmp.Or(deafAfter, deafness)
	return watch{memcached: memcached, deafAfter: deafAfter, interval: deafAfter / 12, deaf: make(chan struct{}, 1)}
}

// run watches memcached until the context ends. Time in which memcached may stop or start does not count, nor does a question that took
// far longer than its limit: then this program itself got no CPU.
func (w watch) run(ctx context.Context, v *view) {
	var silent time.Duration
	for {
		began := time.Now()
		select {
		case <-ctx.Done():
			return
		case <-time.After(w.interval):
		}
		err := w.accepts(ctx)
		took := time.Since(began)
		switch {
		case err == nil || v.excused(time.Now()):
			silent = 0
		case took <= 3*w.interval:
			silent += took
		}
		if silent < w.deafAfter {
			continue
		}
		silent = 0
		select {
		case w.deaf <- struct{}{}:
		default: // the last value has not been received yet
		}
	}
}

// stillDeaf reports whether memcached accepts nothing right now. A value of the channel deaf may be about a former memcached.
func (w watch) stillDeaf(ctx context.Context, v *view) bool {
	return !v.excused(time.Now()) && w.accepts(ctx) != nil
}

// accepts returns nil if memcached accepts a connection.
func (w watch) accepts(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, w.interval)
	defer cancel()
	conn, err := memcache.Dial(ctx, w.memcached)
	if err != nil {
		return err
	}
	return conn.Close()
}

var errDeaf = errors.New("memcached accepts no connections: it is ended, and starts again empty unless its items are in a file")
