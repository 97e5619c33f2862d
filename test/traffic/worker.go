// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// barrier is memcached's no-op command. A quiet request has no reply unless it fails. The reply to a barrier shows
// that all requests before it are done.
const barrier, barrierReply = "mn", "MN"

const (
	// Small values have smallestValue to largestSmallValue bytes. They make many items, and so a large hash table, but need only a few
	// slab classes.
	smallestValue, largestSmallValue = 50, 80
	// valueSizes is how many sizes there are from smallestValue to the largest value. If the largest value has 1 MiB, each size
	// is about 1.17 times the previous size. The sizes reach each slab class, because slab classes grow by a factor of 1.25.
	valueSizes = 64
	// itemOverhead is the memory of an item in addition to its key and value, in bytes: the header, the CAS number, and the
	// terminators of key and value.
	itemOverhead = 48 + 8 + 1 + 2
	// longestKey is the length of a worker's longest key, in bytes.
	longestKey = len("fill-0-") + 19
	// pendingValue is the size, in bytes, of the values that a worker sends in two parts.
	pendingValue = 1000
	// getsPerRequest is how many items a worker requests on each connection.
	getsPerRequest = 16
)

// worker uses a share of a Filler's connections, one after another.
type worker struct {
	number int
	conns  []*Conn
	random *rand.Rand
	turn   int    // how many calls the method next has had
	keys   int    // how many keys were sent; their numbers start at 0
	small  int    // how many keys have small values: they have the lowest numbers
	text   []byte // values are made from the beginning of this text

	// The counts of the Report.
	sets, refused, gets, hits int
	bytes                     int64
}

func newWorker(number int, seed uint64) *worker {
	random := rand.New(rand.NewPCG(seed, uint64(number)))
	return &worker{number: number, random: random}
}

func (w *worker) close() error {
	var errs []error
	for _, conn := range w.conns {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}

// storeSmall stores small values until their items have used up budget bytes. It sends about chunk bytes on a connection, and then changes
// to the next connection.
func (w *worker) storeSmall(ctx context.Context, budget int64, chunk int) error {
	var request []byte
	for end := w.bytes + budget; w.bytes < end; {
		request = request[:0]
		for len(request) <= chunk && w.bytes < end {
			size := smallestValue + w.random.IntN(largestSmallValue-smallestValue+1)
			request = append(w.set(request, size), crlf...)
		}
		if err := w.store(ctx, w.next(), request); err != nil {
			return err
		}
	}
	w.small = w.keys
	return nil
}

// storeEverySize stores values of every size, again and again, until their items have used up budget bytes. Each worker takes its share of
// the sizes. The exact size of each value is random.
func (w *worker) storeEverySize(ctx context.Context, budget int64, workers int, largestItem int64) error {
	largest := float64(largestItem - itemOverhead - int64(longestKey))
	var request []byte
	for end := w.bytes + budget; w.bytes < end; {
		for i := w.number; i < valueSizes; i += workers {
			part := min(1, (float64(i)+w.random.Float64())/(valueSizes-1))
			request = append(w.set(request[:0], int(smallestValue*math.Pow(largest/smallestValue, part))), crlf...)
			if err := w.store(ctx, w.next(), request); err != nil {
				return err
			}
		}
	}
	return nil
}

// beginSets sends the first half of a set on each connection: its first line and half of its value. memcached then
// needs a buffer for each connection.
func (w *worker) beginSets(ctx context.Context) error {
	return w.onEach(ctx, "ms", func(conn *Conn) error {
		request := w.set(nil, pendingValue)
		return conn.Send(request[:len(request)-pendingValue/2])
	})
}

func (w *worker) endSets(ctx context.Context) error {
	rest := append(w.value(pendingValue/2), crlf...)
	for range w.conns {
		if err := w.store(ctx, w.next(), rest); err != nil {
			return err
		}
	}
	return nil
}

// beginGets requests small items on each connection and does not read the replies yet.
func (w *worker) beginGets(ctx context.Context) error {
	return w.onEach(ctx, "mg", func(conn *Conn) error {
		var request []byte
		for range getsPerRequest {
			request = append(w.key(append(request, "mg "...), w.random.IntN(max(1, w.small))), " v"+crlf...)
			w.gets++
		}
		return conn.Send(append(request, barrier+crlf...))
	})
}

// endGets reads the replies to beginGets.
func (w *worker) endGets(ctx context.Context) error {
	return w.onEach(ctx, "mg", func(conn *Conn) error {
		line, err := conn.Line()
		for ; err == nil && line != barrierReply; line, err = conn.Line() {
			if line == "EN" {
				continue
			}
			size, err := strconv.Atoi(strings.TrimPrefix(line, "VA "))
			if err != nil {
				return fmt.Errorf("the reply is %q", line)
			}
			if err := conn.Discard(size + len(crlf)); err != nil {
				return err
			}
			w.hits++
		}
		return err
	})
}

func (w *worker) onEach(ctx context.Context, command string, exchange func(conn *Conn) error) error {
	for _, conn := range w.conns {
		if err := conn.Within(ctx, command, func() error { return exchange(conn) }); err != nil {
			return err
		}
	}
	return nil
}

// store sends quiet sets and waits until they are done. It counts the sets that found no memory.
func (w *worker) store(ctx context.Context, conn *Conn, sets []byte) error {
	return conn.Within(ctx, "ms", func() error {
		line, err := conn.Ask(append(sets, barrier+crlf...))
		for ; err == nil && line != barrierReply; line, err = conn.Line() {
			if !strings.HasPrefix(line, "SERVER_ERROR out of memory") {
				return fmt.Errorf("the reply is %q", line)
			}
			w.refused++
		}
		return err
	})
}

func (w *worker) next() *Conn {
	conn := w.conns[w.turn%len(w.conns)]
	w.turn++
	return conn
}

// set appends a quiet set of a new key to a request. The caller appends the line end after the value.
func (w *worker) set(request []byte, size int) []byte {
	request = append(request, "ms "...)
	start := len(request)
	request = w.key(request, w.keys)
	w.bytes += int64(itemOverhead + len(request) - start + size)
	w.keys++
	w.sets++
	request = strconv.AppendInt(append(request, ' '), int64(size), 10)
	return append(append(request, " q"+crlf...), w.value(size)...)
}

// key appends the key with this number to a request. Workers have no key in common.
func (w *worker) key(request []byte, number int) []byte {
	request = strconv.AppendInt(append(request, "fill-"...), int64(w.number), 10)
	return strconv.AppendInt(append(request, '-'), int64(number), 10)
}

// value returns a value of this size. Callers must not change it.
func (w *worker) value(size int) []byte {
	for len(w.text) < size {
		w.text = append(w.text, "All work and no play makes Jack a dull boy. "...)
	}
	return w.text[:size:size]
}
