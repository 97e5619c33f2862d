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

// Quiet requests have no reply unless they fail. The reply to a no-op after them shows that all of them are done.
const barrier, barrierReply = "mn", "MN"

const (
	// Values of smallestValue to largestSmallValue bytes are small: they take a few slab classes. The hash table grows as large as with
	// values of one byte.
	smallestValue, largestSmallValue = 50, 80
	// valueSizes is the number of sizes from smallestValue to the largest. If the largest is 1 MiB, each is 1.17 times the previous one. Slab
	// classes grow by 1.25.
	valueSizes = 64
	// itemOverhead is the memory of an item in addition to its key and value, in bytes: the header, the CAS number, and the
	// terminators of key and value.
	itemOverhead = 48 + 8 + 1 + 2
	// longestKey is the size of a worker's longest key, in bytes.
	longestKey = len("fill-0-") + 19
	// pendingValue is the size of the values that are sent in two parts, in bytes.
	pendingValue = 1000
	// getsPerRequest is how many items a worker requests on each connection.
	getsPerRequest = 16
)

// worker uses a share of the connections of a Filler, one after the other.
type worker struct {
	number int
	conns  []*Conn
	random *rand.Rand
	turn   int    // the connection that is next, as an index
	keys   int    // how many keys were used so far; their numbers start at 0
	small  int    // how many keys have small values: the first ones
	text   []byte // the text from which values are cut

	// As in Report.
	sets, refused, gets, hits int
	bytes                     int64
}

func newWorker(number int, seed uint64) *worker {
	random := rand.New(rand.NewPCG(seed, uint64(number))) //nolint:gosec // repeatable, and nothing to guess
	return &worker{number: number, random: random}
}

func (w *worker) close() error {
	var errs []error
	for _, conn := range w.conns {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}

// storeSmall stores small values until their items take a number of bytes. It sends about chunk bytes on a connection at a
// time.
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

// storeEverySize stores values of every size at least once, and until their items take a number of bytes. The workers share the sizes. The
// seed determines the exact number of bytes of a value.
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

// beginSets sends the first line and half of the value of a set on each connection, so that memcached needs a buffer for each connection.
func (w *worker) beginSets(ctx context.Context) error {
	return w.onEach(ctx, "ms", func(conn *Conn) error {
		request := w.set(nil, pendingValue)
		return conn.Send(request[:len(request)-pendingValue/2])
	})
}

// endSets sends the rest of what beginSets sent.
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

// store sends quiet sets and waits until they are done.
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

// set appends a quiet set of a new key to a request, without the end of the value's line.
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

// key appends the key with a number to a request. Workers have no key in common.
func (w *worker) key(request []byte, number int) []byte {
	request = strconv.AppendInt(append(request, "fill-"...), int64(w.number), 10)
	return strconv.AppendInt(append(request, '-'), int64(number), 10)
}

// value returns a number of bytes whose content does not matter. Callers must not change them.
func (w *worker) value(size int) []byte {
	for len(w.text) < size {
		w.text = append(w.text, "All work and no play makes Jack a dull boy. "...)
	}
	return w.text[:size:size]
}
