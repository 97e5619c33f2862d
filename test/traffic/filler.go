// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
)

const (
	// fillers is how many goroutines share the connections, at most. More would only take CPU time from memcached.
	fillers = 4
	// largestChunk is the approximate maximum, in bytes, of the small items that are sent before the replies are awaited.
	largestChunk = 64 << 10
	// Small values have smallestValue to largestSmallValue bytes. They make many items, and so a large hash table, but need only a few
	// slab classes.
	smallestValue, largestSmallValue = 50, 80
	// valueSizes is how many sizes there are from smallestValue to the largest value. If the largest value has 1 MiB, each size
	// is about 1.17 times the previous size. The sizes reach each slab class, because slab classes grow by a factor of 1.25.
	valueSizes = 64
	// itemOverhead is at least what an item needs besides its key and value.
	itemOverhead = 60
	// pendingValue is the size, in bytes, of the values that are sent in two parts.
	pendingValue = 1000
	// getsPerRequest is how many items are requested on each connection.
	getsPerRequest = 16
	// barrier is memcached's no-op command. A quiet request has no reply unless it fails. The reply to a barrier shows that all requests
	// before it are done.
	barrier, barrierReply = "mn", "MN"
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
}

// Report says how many connections were open at the same time, how many items were sent, and how many the node evicted.
type Report struct{ Connections, Sets, Evictions int }

// Fill fills the node. It fails if memcached replies with an error, unless the error says that an item finds no
// memory. After Fill, the node may take some more seconds and memory to move its items to a larger hash table.
func (f Filler) Fill(ctx context.Context) (report Report, err error) {
	workers := make([]*worker, min(fillers, f.Connections))
	for i := range workers {
		workers[i] = &worker{number: i, random: rand.New(rand.NewPCG(1, uint64(i)))}
	}
	defer func() {
		for _, w := range workers {
			w.close()
		}
	}()
	if err := inParallel(ctx, workers, f.connect); err != nil {
		return report, err
	}
	conn := workers[0].conns[0]
	settings, err := conn.Stats(ctx, "settings")
	if err != nil {
		return report, err
	}
	memory, err := strconv.ParseInt(settings["maxbytes"], 10, 64)
	if err != nil {
		return report, err
	}
	largest, err := strconv.ParseInt(settings["item_size_max"], 10, 64)
	if err != nil {
		return report, err
	}
	share := int64(f.Factor*float64(memory)) / int64(len(workers))
	// The more connections, the smaller the chunks: each connection gets several.
	chunk := min(largestChunk, int(share)/(4*(f.Connections/len(workers)+1)))
	for _, stage := range []func(context.Context, *worker) error{
		func(ctx context.Context, w *worker) error { return w.storeSmall(ctx, share-share/8, chunk) },
		func(ctx context.Context, w *worker) error {
			return w.storeEverySize(ctx, share/8, len(workers), largest)
		},
		func(ctx context.Context, w *worker) error { return w.beginSets(ctx) },
		func(ctx context.Context, w *worker) error { return w.endSets(ctx) },
		func(ctx context.Context, w *worker) error { return w.beginGets(ctx) },
		func(ctx context.Context, w *worker) error { return w.endGets(ctx) },
	} {
		if err := inParallel(ctx, workers, stage); err != nil {
			return report, err
		}
	}
	for _, w := range workers {
		report.Connections += len(w.conns)
		report.Sets += w.sets
	}
	stats, err := conn.Stats(ctx)
	if err != nil {
		return report, err
	}
	report.Evictions, err = strconv.Atoi(stats["evictions"])
	return report, err
}

// connect opens the connections of a worker, and sends a command on each: memcached accepts even a connection beyond its limit, but refuses
// the first command on that connection.
func (f Filler) connect(ctx context.Context, w *worker) error {
	for number := w.number; number < f.Connections; number += fillers {
		conn, err := Connect(ctx, f.Dial, f.Address)
		if err != nil {
			return fmt.Errorf("connection %d of %d: %w", number+1, f.Connections, err)
		}
		w.conns = append(w.conns, conn)
		reply, err := conn.Command(ctx, barrier)
		if err == nil && reply != barrierReply {
			err = fmt.Errorf("the reply is %q", reply)
		}
		if err != nil {
			return fmt.Errorf("connection %d of %d: %w", number+1, f.Connections, err)
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

// worker uses a share of a Filler's connections, one after another.
type worker struct {
	number int
	conns  []*Conn
	random *rand.Rand
	turn   int   // how many calls the method next has had
	sets   int   // how many keys were sent; their numbers start at 0
	small  int   // how many keys have small values: they have the lowest numbers
	bytes  int64 // the size of the items that were sent
}

func (w *worker) close() {
	for _, conn := range w.conns {
		_ = conn.Close()
	}
}

// storeSmall stores small values until their items have used up budget bytes. It sends about chunk bytes on a connection, and then changes
// to the next connection.
func (w *worker) storeSmall(ctx context.Context, budget int64, chunk int) error {
	var request []byte
	for end := w.bytes + budget; w.bytes < end; {
		request = request[:0]
		for len(request) <= chunk && w.bytes < end {
			request = w.set(request, smallestValue+w.random.IntN(largestSmallValue-smallestValue+1))
		}
		if err := w.store(ctx, w.next(), request); err != nil {
			return err
		}
	}
	w.small = w.sets
	return nil
}

// storeEverySize stores values of every size, again and again, until their items have used up budget bytes. Each worker takes its share of
// the sizes. The exact size of each value is random.
func (w *worker) storeEverySize(ctx context.Context, budget int64, workers int, largestItem int64) error {
	largest := float64(largestItem - 2*itemOverhead)
	for end := w.bytes + budget; w.bytes < end; {
		for i := w.number; i < valueSizes; i += workers {
			part := min(1, (float64(i)+w.random.Float64())/(valueSizes-1))
			request := w.set(nil, int(smallestValue*math.Pow(largest/smallestValue, part)))
			if err := w.store(ctx, w.next(), request); err != nil {
				return err
			}
		}
	}
	return nil
}

// beginSets sends the first half of a set on each connection. memcached then needs a buffer for each connection.
func (w *worker) beginSets(ctx context.Context) error {
	return w.onEach(ctx, func(conn *Conn) error {
		request := w.set(nil, pendingValue)
		return conn.Send(request[:len(request)-pendingValue/2])
	})
}

func (w *worker) endSets(ctx context.Context) error {
	for range w.conns {
		if err := w.store(ctx, w.next(), append(bytes.Repeat([]byte("v"), pendingValue/2-len(crlf)), crlf...)); err != nil {
			return err
		}
	}
	return nil
}

// beginGets requests small items on each connection and does not read the replies yet.
func (w *worker) beginGets(ctx context.Context) error {
	return w.onEach(ctx, func(conn *Conn) error {
		var request []byte
		for range getsPerRequest {
			request = fmt.Appendf(request, "mg %s v"+crlf, w.key(w.random.IntN(max(1, w.small))))
		}
		return conn.Send(append(request, barrier+crlf...))
	})
}

func (w *worker) endGets(ctx context.Context) error {
	return w.onEach(ctx, func(conn *Conn) error {
		line, err := conn.Line()
		for ; err == nil && line != barrierReply; line, err = conn.Line() {
			if size, hit := strings.CutPrefix(line, "VA "); hit {
				bytes, err := strconv.Atoi(size)
				if err != nil {
					return err
				}
				if err := conn.Discard(bytes + len(crlf)); err != nil {
					return err
				}
			}
		}
		return err
	})
}

func (w *worker) onEach(ctx context.Context, exchange func(conn *Conn) error) error {
	for _, conn := range w.conns {
		if err := conn.Within(ctx, "filling", func() error { return exchange(conn) }); err != nil {
			return err
		}
	}
	return nil
}

// store sends quiet sets and waits until they are done. Some may find no memory.
func (w *worker) store(ctx context.Context, conn *Conn, sets []byte) error {
	return conn.Within(ctx, "ms", func() error {
		line, err := conn.Ask(append(sets, barrier+crlf...))
		for ; err == nil && line != barrierReply; line, err = conn.Line() {
			if !strings.HasPrefix(line, "SERVER_ERROR out of memory") {
				return fmt.Errorf("the reply is %q", line)
			}
		}
		return err
	})
}

func (w *worker) next() *Conn {
	w.turn++
	return w.conns[w.turn%len(w.conns)]
}

// key returns the key with this number. Workers have no key in common.
func (w *worker) key(number int) string { return fmt.Sprintf("fill-%d-%d", w.number, number) }

// set appends a quiet set of a new key to a request.
func (w *worker) set(request []byte, size int) []byte {
	key := w.key(w.sets)
	w.sets++
	w.bytes += int64(itemOverhead + len(key) + size)
	request = fmt.Appendf(request, "ms %s %d q"+crlf, key, size)
	return append(append(request, bytes.Repeat([]byte("v"), size)...), crlf...)
}
