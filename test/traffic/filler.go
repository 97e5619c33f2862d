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
	// lanesPerFiller is how many goroutines share the connections. More would only take the CPU from memcached.
	lanesPerFiller = 4
	// largestChunk is how many bytes of small items a Filler sends before it waits for the reply.
	largestChunk = 64 << 10
)

// Filler gives one memcached node all that it is sized for: every connection that it lets in, more than fits into its item
// memory, items of every size, and requests that are under way on all connections at once.
//
// What it stores is what takes most memory. Values of 50 to 80 bytes come first: so many that the hash table grows as far as
// it does, and of nearly one size, which gives them all pages. Then come values of each size up to the largest: each slab
// class takes a page for its first item although there is none left.
//
// It reads what it asks for. What clients cost that do not is theirs to decide, and memcached has no bound for it.
type Filler struct {
	// Address is the host:port of the node.
	Address string
	// Dial connects to it. Nil is what net.Dialer does.
	Dial DialFunc
	// Connections is how many to open, at least one: as a rule all that the node lets in.
	Connections int
	// Factor is how much to store, as a multiple of the item memory: 1.2 or so evicts for certain.
	Factor float64
	// Seed makes one run like another, but for what memcached evicts.
	Seed uint64
}

// Report says what a Filler did.
type Report struct {
	// Memory is the item memory of the node in bytes, as it says itself.
	Memory int64
	// Connections were open at the same time, and each was used.
	Connections int
	// Sets is how many items were sent. Refused is how many of them memcached had no memory for.
	Sets, Refused int
	// Bytes is what the items sent take, in bytes: header, key and value.
	Bytes int64
	// Gets is how many items were asked for. Hits is how many of them were still there.
	Gets, Hits int
	// Evictions is how many items the node threw out meanwhile to make room.
	Evictions int64
}

// Fill does it. An error that memcached replies ends it, except that there is no memory for an item. Afterwards the node
// moves its items to a larger hash table, which takes it some seconds more and some memory.
func (f Filler) Fill(ctx context.Context) (Report, error) {
	if f.Connections < 1 || f.Factor <= 0 {
		return Report{}, fmt.Errorf("to fill %s takes connections and a factor, not %d and %g", f.Address, f.Connections, f.Factor)
	}
	lanes := make([]*lane, min(lanesPerFiller, f.Connections))
	for i := range lanes {
		lanes[i] = newLane(i, f.Seed)
	}
	report, err := f.fill(ctx, lanes)
	for _, l := range lanes {
		// After an error some connections are closed already.
		if failed := l.close(); err == nil {
			err = failed
		}
	}
	if err != nil {
		return report, fmt.Errorf("filling %s: %w", f.Address, err)
	}
	return report, nil
}

func (f Filler) fill(ctx context.Context, lanes []*lane) (Report, error) {
	if err := f.connect(ctx, lanes); err != nil {
		return Report{}, err
	}
	asked := lanes[0].conns[0]
	settings, err := numbers(ctx, asked, []string{"settings"}, "maxbytes", "item_size_max")
	if err != nil {
		return Report{}, err
	}
	before, err := numbers(ctx, asked, nil, "evictions")
	if err != nil {
		return Report{}, err
	}
	if err := f.load(ctx, lanes, settings[0], settings[1]); err != nil {
		return Report{}, err
	}
	after, err := numbers(ctx, asked, nil, "evictions")
	if err != nil {
		return Report{}, err
	}
	report := Report{Memory: settings[0], Evictions: after[0] - before[0]}
	for _, l := range lanes {
		report.Connections += len(l.conns)
		report.Sets += l.sets
		report.Refused += l.refused
		report.Bytes += l.bytes
		report.Gets += l.gets
		report.Hits += l.hits
	}
	return report, nil
}

// connect opens the connections and has each used once, since memcached refuses one too many only then.
func (f Filler) connect(ctx context.Context, lanes []*lane) error {
	return together(ctx, lanes, func(ctx context.Context, l *lane) error {
		for number := l.number; number < f.Connections; number += len(lanes) {
			conn, err := Connect(ctx, f.Dial, f.Address)
			if err != nil {
				return fmt.Errorf("connection %d of %d: %w", number+1, f.Connections, err)
			}
			l.conns = append(l.conns, conn)
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

// load takes one stage after the other: each begins when all connections are through with the one before. The item memory
// and the size of the largest item are in bytes.
func (f Filler) load(ctx context.Context, lanes []*lane, memory, largestItem int64) error {
	type stage = func(ctx context.Context, l *lane) error
	share := int64(f.Factor*float64(memory)) / int64(len(lanes))
	// Few connections have large requests, but many have several each.
	chunk := min(largestChunk, int(share)/(4*(f.Connections/len(lanes)+1)))
	for _, do := range []stage{
		func(ctx context.Context, l *lane) error { return l.storeSmall(ctx, share-share/8, chunk) },
		func(ctx context.Context, l *lane) error {
			return l.storeEverySize(ctx, share/8, len(lanes), largestItem)
		},
		func(ctx context.Context, l *lane) error { return l.beginSets(ctx) },
		func(ctx context.Context, l *lane) error { return l.endSets(ctx) },
		func(ctx context.Context, l *lane) error { return l.beginGets(ctx) },
		func(ctx context.Context, l *lane) error { return l.endGets(ctx) },
	} {
		if err := together(ctx, lanes, do); err != nil {
			return err
		}
	}
	return nil
}

// together has all lanes do something at once and returns the first error, which ends what the others do.
func together(ctx context.Context, lanes []*lane, do func(ctx context.Context, l *lane) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, l := range lanes {
		running.Go(func() {
			if err := do(ctx, l); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// numbers returns some of the stats of a topic.
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
