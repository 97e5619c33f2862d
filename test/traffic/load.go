// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// getsInTen is how many of ten requests of a Load read a value. The others store one.
const getsInTen = 9

// stored is the reply to a set that memcached has obeyed.
const stored = "STORED"

// Load is what clients request from one node that has all of their keys. Each client has a connection, and sends a request when it
// has the reply to the previous one.
type Load struct {
	// Requests is how many requests all clients send together. Nine of ten are gets, the others sets.
	Requests int
	// Keys is how many keys they use, at least one. ValueSize is the size of each value in bytes.
	Keys, ValueSize int
	// Seed makes runs repeatable.
	Seed uint64
}

// Served is what became of the requests of a Load.
type Served struct {
	// Took is the time from the first request to the last reply.
	Took time.Duration
	// Latencies are the times from each request to the end of its reply.
	Latencies []time.Duration
	// Sets and Gets are how many requests there were.
	Sets, Gets int
	// Failed is how many sets did not store, and how many gets returned no value.
	Failed int
}

// Store stores all keys, each over one of the connections. It fails if memcached refuses one.
func (l Load) Store(ctx context.Context, conns []*Conn) error {
	return inParallel(ctx, l.clients(conns), func(ctx context.Context, c *loadClient) error {
		return c.conn.Within(ctx, "set", func() error {
			for number := c.number; number < l.Keys; number += len(conns) {
				reply, err := c.set(number)
				if err == nil && reply != stored {
					err = fmt.Errorf("the reply is %q", reply)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// Run sends the requests over the connections. A reply that says no is counted. It fails if a connection does.
func (l Load) Run(ctx context.Context, conns []*Conn) (Served, error) {
	clients := l.clients(conns)
	began := time.Now()
	err := inParallel(ctx, clients, func(ctx context.Context, c *loadClient) error { return c.conn.Within(ctx, "load", c.run) })
	all := Served{Took: time.Since(began)}
	for _, c := range clients {
		all.Latencies = append(all.Latencies, c.served.Latencies...)
		all.Sets, all.Gets, all.Failed = all.Sets+c.served.Sets, all.Gets+c.served.Gets, all.Failed+c.served.Failed
	}
	return all, err
}

// loadClient sends a share of the requests.
type loadClient struct {
	number, requests int
	conn             *Conn
	random           *rand.Rand
	keys             int
	value, request   []byte
	served           Served
}

// clients returns a client for each connection. What the requests need is made before the first of them.
func (l Load) clients(conns []*Conn) []*loadClient {
	clients := make([]*loadClient, len(conns))
	for i, conn := range conns {
		requests := l.Requests*(i+1)/len(conns) - l.Requests*i/len(conns)
		clients[i] = &loadClient{
			number: i, requests: requests, conn: conn, keys: l.Keys, value: valueOf("load", l.ValueSize),
			random: rand.New(rand.NewPCG(l.Seed, uint64(i))), //nolint:gosec // repeatable, and nothing to guess
			served: Served{Latencies: make([]time.Duration, 0, requests)},
		}
	}
	return clients
}

func (c *loadClient) run() error {
	for range c.requests {
		number, began := c.random.IntN(c.keys), time.Now()
		var ok bool
		var err error
		if c.random.IntN(10) < getsInTen {
			c.served.Gets++
			ok, err = c.get(number)
		} else {
			c.served.Sets++
			var reply string
			reply, err = c.set(number)
			ok = reply == stored
		}
		if err != nil {
			return err
		}
		if !ok {
			c.served.Failed++
		}
		c.served.Latencies = append(c.served.Latencies, time.Since(began))
	}
	return nil
}

// set stores the value of a key, and returns the reply.
func (c *loadClient) set(number int) (string, error) {
	c.request = fmt.Appendf(c.request[:0], "set %s 0 0 %d"+crlf, Key(number+1), len(c.value))
	c.request = append(append(c.request, c.value...), crlf...)
	return c.conn.Ask(c.request)
}

// get reports whether memcached has returned a value.
func (c *loadClient) get(number int) (bool, error) {
	key := Key(number + 1)
	c.request = append(append(append(c.request[:0], "get "...), key...), crlf...)
	line, err := c.conn.Ask(c.request)
	switch {
	case err != nil:
		return false, err
	case line == fmt.Sprintf("VALUE %s 0 %d", key, len(c.value)):
		return true, c.conn.Discard(len(c.value) + len(crlf+"END"+crlf))
	case strings.HasPrefix(line, "VALUE "):
		return false, fmt.Errorf("the reply to a get of %s is %q", key, line)
	default:
		return false, nil
	}
}
