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

// Quiet requests have no reply unless they fail. A no-op after them is replied to when all of them are through.
const barrier, barrierReply = "mn", "MN"

const (
	// Values of smallestValue to largestSmallValue bytes are small: several slab classes, and a hash table as large as if
	// they were of one byte.
	smallestValue, largestSmallValue = 50, 80
	// valueSizes is how many sizes there are from smallestValue to the largest. Each is 1.17 times the one before when
	// that is 1 MiB, and slab classes grow by 1.25: none is left out.
	valueSizes = 64
	// itemOverhead is what an item takes in memcached beside its key and its value, in bytes: the header, the CAS number,
	// and what ends key and value.
	itemOverhead = 48 + 8 + 1 + 2
	// longestKey is the size of the longest key of a lane, in bytes.
	longestKey = len("fill-0-") + 19
	// pendingValue is the size of the values of which half is sent, in bytes.
	pendingValue = 1000
	// getsPerRequest is how many items a lane asks for on each connection.
	getsPerRequest = 16
)

// lane is a share of the connections of a Filler, which one goroutine takes in turn.
type lane struct {
	number int
	conns  []*Conn
	random *rand.Rand
	turn   int    // the connection that is next, as an index
	keys   int    // how many keys were used so far; they are numbered from 0
	small  int    // how many keys have small values: the first ones
	text   []byte // what values are cut from

	// As in Report.
	sets, refused, gets, hits int
	bytes                     int64
}

func newLane(number int, seed uint64) *lane {
	random := rand.New(rand.NewPCG(seed, uint64(number))) //nolint:gosec // repeatable, and nothing to guess
	return &lane{number: number, random: random}
}

func (l *lane) close() error {
	var errs []error
	for _, conn := range l.conns {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}

// storeSmall stores small values that take so many bytes as items, and sends about chunk bytes on a connection at a time.
func (l *lane) storeSmall(ctx context.Context, budget int64, chunk int) error {
	var request []byte
	for end := l.bytes + budget; l.bytes < end; {
		request = request[:0]
		for len(request) <= chunk && l.bytes < end {
			size := smallestValue + l.random.IntN(largestSmallValue-smallestValue+1)
			request = append(l.set(request, size), crlf...)
		}
		if err := l.store(ctx, l.next(), request); err != nil {
			return err
		}
	}
	l.small = l.keys
	return nil
}

// storeEverySize stores values of every size at least once and until they take so many bytes as items. The lanes share the
// sizes; within a size, the seed decides.
func (l *lane) storeEverySize(ctx context.Context, budget int64, lanes int, largestItem int64) error {
	largest := float64(largestItem - itemOverhead - int64(longestKey))
	var request []byte
	for end := l.bytes + budget; l.bytes < end; {
		for i := l.number; i < valueSizes; i += lanes {
			part := min(1, (float64(i)+l.random.Float64())/(valueSizes-1))
			request = append(l.set(request[:0], int(smallestValue*math.Pow(largest/smallestValue, part))), crlf...)
			if err := l.store(ctx, l.next(), request); err != nil {
				return err
			}
		}
	}
	return nil
}

// beginSets sends one and a half lines of a set on each connection, so that memcached has a buffer for each.
func (l *lane) beginSets(ctx context.Context) error {
	return l.onEach(ctx, "ms", func(conn *Conn) error {
		request := l.set(nil, pendingValue)
		_, err := conn.conn.Write(request[:len(request)-pendingValue/2])
		return err
	})
}

// endSets sends what beginSets left out.
func (l *lane) endSets(ctx context.Context) error {
	rest := append(l.value(pendingValue/2), crlf...)
	for range l.conns {
		if err := l.store(ctx, l.next(), rest); err != nil {
			return err
		}
	}
	return nil
}

// beginGets asks for small items on each connection and leaves the replies for later.
func (l *lane) beginGets(ctx context.Context) error {
	return l.onEach(ctx, "mg", func(conn *Conn) error {
		var request []byte
		for range getsPerRequest {
			request = append(l.key(append(request, "mg "...), l.random.IntN(max(1, l.small))), " v"+crlf...)
			l.gets++
		}
		_, err := conn.conn.Write(append(request, barrier+crlf...))
		return err
	})
}

// endGets reads the replies to beginGets.
func (l *lane) endGets(ctx context.Context) error {
	return l.onEach(ctx, "mg", func(conn *Conn) error {
		line, err := conn.line()
		for ; err == nil && line != barrierReply; line, err = conn.line() {
			if line == "EN" {
				continue
			}
			size, err := strconv.Atoi(strings.TrimPrefix(line, "VA "))
			if err != nil {
				return fmt.Errorf("the reply is %q", line)
			}
			if _, err := conn.replies.Discard(size + len(crlf)); err != nil {
				return err
			}
			l.hits++
		}
		return err
	})
}

// onEach has a conversation on each connection.
func (l *lane) onEach(ctx context.Context, command string, conversation func(conn *Conn) error) error {
	for _, conn := range l.conns {
		if err := conn.within(ctx, command, func() error { return conversation(conn) }); err != nil {
			return err
		}
	}
	return nil
}

// store sends quiet sets and waits until they are through.
func (l *lane) store(ctx context.Context, conn *Conn, sets []byte) error {
	return conn.within(ctx, "ms", func() error {
		line, err := conn.ask(append(sets, barrier+crlf...))
		for ; err == nil && line != barrierReply; line, err = conn.line() {
			if !strings.HasPrefix(line, "SERVER_ERROR out of memory") {
				return fmt.Errorf("the reply is %q", line)
			}
			l.refused++
		}
		return err
	})
}

// next returns the connection whose turn it is.
func (l *lane) next() *Conn {
	conn := l.conns[l.turn%len(l.conns)]
	l.turn++
	return conn
}

// set appends a quiet set of a new key to a request, except for the end of the value's line.
func (l *lane) set(request []byte, size int) []byte {
	request = append(request, "ms "...)
	start := len(request)
	request = l.key(request, l.keys)
	l.bytes += int64(itemOverhead + len(request) - start + size)
	l.keys++
	l.sets++
	request = strconv.AppendInt(append(request, ' '), int64(size), 10)
	return append(append(request, " q"+crlf...), l.value(size)...)
}

// key appends the key with a number to a request. No two lanes have a key in common.
func (l *lane) key(request []byte, number int) []byte {
	request = strconv.AppendInt(append(request, "fill-"...), int64(l.number), 10)
	return strconv.AppendInt(append(request, '-'), int64(number), 10)
}

// value returns so many bytes. What they are is of no interest, and they are not to be changed.
func (l *lane) value(size int) []byte {
	for len(l.text) < size {
		l.text = append(l.text, "All work and no play makes Jack a dull boy. "...)
	}
	return l.text[:size:size]
}
