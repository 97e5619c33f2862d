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

// getsInTen is how many of ten requests are gets, on average. The other requests are sets.
const getsInTen = 9

const stored = "STORED"

// Load describes requests that clients send to one server. Each client has one connection, and sends each request after the reply to
// its previous request.
type Load struct {
	// Keys is how many keys the clients use, at least one. ValueSize is the size of each value in bytes.
	Keys, ValueSize int
	// Seed makes runs repeatable.
	Seed uint64
	// Limit is the time after which clients send no more requests.
	Limit time.Duration
}

// Served is the result of a Load.
type Served struct {
	// Took is the time from the first request to the last reply.
	Took time.Duration
	// Latencies are the times from each request to the end of its reply.
	Latencies []time.Duration
	// Failed is how many requests failed: sets that did not store, and gets that returned no value.
	Failed int
}

// Store stores all keys. Each client stores a share of them. Store fails if memcached refuses a key.
func (l Load) Store(ctx context.Context, conns []*Conn) error {
	return inParallel(ctx, l.clients(conns), func(ctx context.Context, c *loadClient) error {
		return c.conn.Within(ctx, "set", func() error {
			for number := c.number; number < l.Keys; number += len(conns) {
				switch ok, err := c.set(number); {
				case err != nil:
					return err
				case !ok:
					return fmt.Errorf("key %d is refused", number)
				}
			}
			return nil
		})
	})
}

// Run sends the requests. It counts refused sets and missing values. It returns an error if a connection fails, or if a value has
// another size than ValueSize.
func (l Load) Run(ctx context.Context, conns []*Conn) (Served, error) {
	clients := l.clients(conns)
	began := time.Now()
	err := inParallel(ctx, clients, func(ctx context.Context, c *loadClient) error { return c.conn.Within(ctx, "load", c.run) })
	all := Served{Took: time.Since(began)}
	for _, c := range clients {
		all.Latencies, all.Failed = append(all.Latencies, c.served.Latencies...), all.Failed+c.served.Failed
	}
	return all, err
}

// loadClient is one of the clients.
type loadClient struct {
	load           Load
	number         int
	conn           *Conn
	random         *rand.Rand
	value, request []byte
	served         Served
}

// clients prepares the clients. The time of a run does not include this preparation.
func (l Load) clients(conns []*Conn) []*loadClient {
	clients := make([]*loadClient, len(conns))
	for i, conn := range conns {
		clients[i] = &loadClient{
			load: l, number: i, conn: conn, value: valueOf("load", l.ValueSize),
			random: rand.New(rand.NewPCG(l.Seed, uint64(i))),
		}
	}
	return clients
}

func (c *loadClient) run() error {
	for start := time.Now(); ; {
		number, began := c.random.IntN(c.load.Keys), time.Now()
		if began.Sub(start) >= c.load.Limit {
			return nil
		}
		request := c.set
		if c.random.IntN(10) < getsInTen {
			request = c.get
		}
		ok, err := request(number)
		if err != nil {
			return err
		}
		if !ok {
			c.served.Failed++
		}
		c.served.Latencies = append(c.served.Latencies, time.Since(began))
	}
}

func (c *loadClient) set(number int) (bool, error) {
	c.request = fmt.Appendf(c.request[:0], "set %s 0 0 %d"+crlf, Key(number+1), len(c.value))
	c.request = append(append(c.request, c.value...), crlf...)
	line, err := c.conn.Ask(c.request)
	return line == stored, err
}

// get reports whether the node has a value for the key.
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
