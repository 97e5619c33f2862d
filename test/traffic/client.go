// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"golang.org/x/sync/errgroup"
)

const (
	// connectionsPerServer is how many concurrent requests a call of Read or Write sends to each server, at most.
	connectionsPerServer = 4
	// keysPerRead is how many keys a client reads in one request, at most.
	keysPerRead = 100
	// timeout is how long a client waits for a connection or a response, unless SetTimeout changes it.
	timeout = time.Second
)

// DialFunc connects to an address, like the DialContext method of net.Dialer.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

func (d DialFunc) orDefault() DialFunc {
	if d == nil {
		return (&net.Dialer{}).DialContext
	}
	return d
}

// Client reads and writes keys as an application does: with a ring and persistent connections. A call sends no request after its context
// has ended, and no further request to a server that it has found unreachable. A Client is safe for concurrent use.
type Client struct {
	ring  *Ring
	cache *memcache.Client
}

// NewClient returns a client of the servers of a ring. It connects on demand.
func NewClient(ring *Ring, dial DialFunc) *Client {
	cache := memcache.NewFromSelector(ring)
	cache.Timeout = timeout
	cache.MaxIdleConns = connectionsPerServer
	cache.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial.orDefault()(ctx, network, address)
		if err != nil {
			return nil, &dialError{err}
		}
		return conn, nil
	}
	return &Client{ring: ring, cache: cache}
}

// SetTimeout replaces the timeout. Call it before Read and Write.
func (c *Client) SetTimeout(timeout time.Duration) { c.cache.Timeout = timeout }

// Close closes the connections.
func (c *Client) Close() error { return c.cache.Close() }

// Key returns the key with this number. The first key that clients write and read is Key(1), "key-000001".
func Key(number int) string { return fmt.Sprintf("key-%06d", number) }

// valueOf returns the value of a key: the key and a slash, repeated, and cut to size bytes.
func valueOf(key string, size int) []byte {
	unit := []byte(key + "/")
	return bytes.Repeat(unit, size/len(unit)+1)[:size]
}

// Write stores the keys with the numbers from 1 to keys. Each value has valueSize bytes, copied from its key. The error has a
// line for each server that did not store all of its keys.
func (c *Client) Write(ctx context.Context, keys, valueSize int) error {
	return c.spread(ctx, keys, 1, func(keys []string) error {
		for _, key := range keys {
			// The flags store the size, so that a reader detects a truncated value.
			item := &memcache.Item{Key: key, Value: valueOf(key, valueSize), Flags: uint32(valueSize)}
			if err := c.cache.Set(item); err != nil {
				return err
			}
		}
		return nil
	})
}

// Hits is the result of reading keys.
type Hits struct {
	// Keys is how many keys were to be read. The misses are Keys minus Hits, Wrong and Errors.
	Keys int
	// Hits is how many keys had the value that was written.
	Hits int
	// Wrong is how many keys had another value.
	Wrong int
	// Errors is how many keys got neither a value nor a miss, for example because the server is unreachable. An application treats
	// them as misses.
	Errors int
}

// Read gets the keys with the numbers from 1 to keys. It returns an error only if the context ends. The keys of a
// server that does not respond count as Errors.
func (c *Client) Read(ctx context.Context, keys int) (Hits, error) {
	var hits, wrong, misses atomic.Int64
	_ = c.spread(ctx, keys, keysPerRead, func(keys []string) error {
		items, err := c.cache.GetMulti(keys)
		for key, item := range items {
			if int(item.Flags) == len(item.Value) && bytes.Equal(item.Value, valueOf(key, len(item.Value))) {
				hits.Add(1)
			} else {
				wrong.Add(1)
			}
		}
		if err == nil {
			misses.Add(int64(len(keys) - len(items)))
		}
		return err
	})
	result := Hits{Keys: keys, Hits: int(hits.Load()), Wrong: int(wrong.Load())}
	result.Errors = keys - result.Hits - result.Wrong - int(misses.Load())
	return result, context.Cause(ctx)
}

// spread divides the keys from Key(1) to Key(keys) into batches, each for one server. It passes the batches to the function do,
// several at the same time. The error has a line for each server that failed.
func (c *Client) spread(ctx context.Context, keys, batch int, do func(keys []string) error) error {
	shares := make([][]string, len(c.ring.servers))
	for number := range keys {
		key := Key(number + 1)
		owner := c.ring.owner(key)
		shares[owner] = append(shares[owner], key)
	}
	failures := make([]error, len(shares))
	var servers sync.WaitGroup
	for i, share := range shares {
		servers.Go(func() {
			if err := visit(ctx, slices.Collect(slices.Chunk(share, batch)), do); err != nil {
				failures[i] = fmt.Errorf("server %s at %s: %w", c.ring.servers[i].Name, c.ring.servers[i].Address, err)
			}
		})
	}
	servers.Wait()
	return errors.Join(failures...)
}

// visit passes the batches of one server to the function do, and returns the first error. A broken connection fails only its own
// batch. An unreachable server ends the visit, because each further batch might wait for the timeout.
func visit(ctx context.Context, batches [][]string, do func(keys []string) error) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	var group errgroup.Group
	group.SetLimit(connectionsPerServer)
	for _, batch := range batches {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			err := do(batch)
			if unreachable(err) {
				giveUp(err)
			}
			return err
		})
	}
	return cmp.Or(group.Wait(), context.Cause(ctx))
}

type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// unreachable reports whether the server is unreachable: dialing failed, or no response came in time. Other errors
// mean that a connection broke or that the server reported an error.
func unreachable(err error) bool {
	var dialing *dialError
	return errors.As(err, &dialing) || errors.Is(err, os.ErrDeadlineExceeded)
}
