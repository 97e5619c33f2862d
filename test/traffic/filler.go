// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"context"
	"fmt"
	"strconv"
	"sync"
)

const (
	// workersPerFiller is how many goroutines share the connections, at most. More would only take CPU time from memcached.
	workersPerFiller = 4
	// largestChunk is the approximate maximum, in bytes, of the small items that a worker sends before it waits for the replies.
	largestChunk = 64 << 10
)

// Filler gives one memcached node the maximum load: every allowed connection, more items than its memory holds, and concurrent
// requests on all connections. It first stores values of 50 to 80 bytes. These many small items make the hash table as large as
// possible, and need few slab classes. It then stores larger values for each slab class: memcached allocates a page for the first item
// of a slab class even if all pages are in use. A Filler reads all responses, because memcached does not limit the memory for unread
// responses.
type Filler struct {
	// Address is the host:port of the node.
	Address string
	// Dial connects to the node. Nil means net.Dialer.
	Dial DialFunc
	// Connections is how many connections to open, at least one: usually all that the node allows.
	Connections int
	// Factor is the size of all stored items, as a multiple of the item memory. With 1.2, the node is certain to evict items.
	Factor float64
	// Seed makes runs repeatable, except for what memcached evicts.
	Seed uint64
}

// Report is the result of a Filler.
type Report struct {
	// Memory is the item memory that the node reports, in bytes.
	Memory int64
	// Connections is how many connections were open at the same time.
	Connections int
	// Sets is how many items were sent. Refused is how many items found no memory.
	Sets, Refused int
	// Bytes is the size of the items sent: header, key and value.
	Bytes int64
	// Gets is how many items were requested. Hits is how many of them still existed.
	Gets, Hits int
	// Evictions is how many items the node evicted during the run.
	Evictions int64
}

// Fill fills the node. It fails if memcached replies with an error, unless the error says that an item finds no
// memory. After Fill, the node may take some more seconds and memory to move its items to a larger hash table.
func (f Filler) Fill(ctx context.Context) (Report, error) {
	if f.Connections < 1 || f.Factor <= 0 {
		return Report{}, fmt.Errorf("filling %s requires connections and a factor, got %d and %g", f.Address, f.Connections, f.Factor)
	}
	workers := make([]*worker, min(workersPerFiller, f.Connections))
	for i := range workers {
		workers[i] = newWorker(i, f.Seed)
	}
	report, err := f.fill(ctx, workers)
	for _, w := range workers {
		// After an error, some connections are closed already.
		if failed := w.close(); err == nil {
			err = failed
		}
	}
	if err != nil {
		return report, fmt.Errorf("filling %s: %w", f.Address, err)
	}
	return report, nil
}

func (f Filler) fill(ctx context.Context, workers []*worker) (Report, error) {
	if err := f.connect(ctx, workers); err != nil {
		return Report{}, err
	}
	conn := workers[0].conns[0]
	settings, err := numbers(ctx, conn, []string{"settings"}, "maxbytes", "item_size_max")
	if err != nil {
		return Report{}, err
	}
	before, err := numbers(ctx, conn, nil, "evictions")
	if err != nil {
		return Report{}, err
	}
	if err := f.load(ctx, workers, settings[0], settings[1]); err != nil {
		return Report{}, err
	}
	after, err := numbers(ctx, conn, nil, "evictions")
	if err != nil {
		return Report{}, err
	}
	report := Report{Memory: settings[0], Evictions: after[0] - before[0]}
	for _, w := range workers {
		report.Connections += len(w.conns)
		report.Sets += w.sets
		report.Refused += w.refused
		report.Bytes += w.bytes
		report.Gets += w.gets
		report.Hits += w.hits
	}
	return report, nil
}

// connect opens the connections, and sends a command on each: memcached accepts even a connection beyond its limit, but refuses the first
// command on that connection.
func (f Filler) connect(ctx context.Context, workers []*worker) error {
	return inParallel(ctx, workers, func(ctx context.Context, w *worker) error {
		for number := w.number; number < f.Connections; number += len(workers) {
			conn, err := Connect(ctx, f.Dial, f.Address)
			if err != nil {
				return fmt.Errorf("connection %d of %d: %w", number+1, f.Connections, err)
			}
			w.conns = append(w.conns, conn)
			reply, err := conn.Command(ctx, barrier)
			if err == nil && reply != barrierReply {
				err = fmt.Errorf("the reply to %s is %q", barrier, reply)
			}
			if err != nil {
				return fmt.Errorf("connection %d of %d: %w", number+1, f.Connections, err)
			}
		}
		return nil
	})
}

// load runs one stage after another on all connections. memory is the item memory and largestItem the size of the
// largest item, both in bytes.
func (f Filler) load(ctx context.Context, workers []*worker, memory, largestItem int64) error {
	type stage = func(ctx context.Context, w *worker) error
	share := int64(f.Factor*float64(memory)) / int64(len(workers))
	// The more connections, the smaller the chunks: each connection gets several.
	chunk := min(largestChunk, int(share)/(4*(f.Connections/len(workers)+1)))
	for _, do := range []stage{
		func(ctx context.Context, w *worker) error { return w.storeSmall(ctx, share-share/8, chunk) },
		func(ctx context.Context, w *worker) error {
			return w.storeEverySize(ctx, share/8, len(workers), largestItem)
		},
		func(ctx context.Context, w *worker) error { return w.beginSets(ctx) },
		func(ctx context.Context, w *worker) error { return w.endSets(ctx) },
		func(ctx context.Context, w *worker) error { return w.beginGets(ctx) },
		func(ctx context.Context, w *worker) error { return w.endGets(ctx) },
	} {
		if err := inParallel(ctx, workers, do); err != nil {
			return err
		}
	}
	return nil
}

// inParallel calls the function do for all workers at the same time. The first error cancels the other calls and is returned.
func inParallel[W any](ctx context.Context, workers []W, do func(ctx context.Context, w W) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, w := range workers {
		running.Go(func() {
			if err := do(ctx, w); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

func numbers(ctx context.Context, conn *Conn, topic []string, names ...string) ([]int64, error) {
	stats, err := conn.Stats(ctx, topic...)
	if err != nil {
		return nil, err
	}
	result := make([]int64, len(names))
	for i, name := range names {
		if result[i], err = strconv.ParseInt(stats[name], 10, 64); err != nil {
			return nil, fmt.Errorf("stat %s: %w", name, err)
		}
	}
	return result, nil
}
