// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// getsInTen is how many of ten requests are gets, on average. The other requests are sets.
const getsInTen = 9

const stored = "STORED"

// Load describes requests that clients send to one node with all keys, or to several nodes that share the keys. Each
// client has a connection to each node. A client sends each request after the reply to its previous request.
type Load struct {
	// Requests is how many requests all clients send together. On average, nine of ten are gets, and the others are sets.
	Requests int
	// Keys is how many keys the clients use, at least one. ValueSize is the size of each value in bytes.
	Keys, ValueSize int
	// Seed makes runs repeatable.
	Seed uint64
	// Limit is the time after which clients send no more requests. 0 means no limit.
	Limit time.Duration
	// Nodes is how many nodes share the keys; 0 means one. Owner returns the node of a key.
	Nodes int
	Owner Owner
}

// Served is the result of a Load.
type Served struct {
	// Took is the time from the first request to the last reply.
	Took time.Duration
	// Latencies are the times from each request to the end of its reply.
	Latencies []time.Duration
	// Sets and Gets are how many requests there were.
	Sets, Gets int
	// Failed is how many requests failed: sets that did not store, and gets that returned no value.
	Failed int
}

// Store stores all keys. Each client stores a share of them. Store fails if memcached refuses a key. For each client, conns has a
// connection to each node. The connections of a client are adjacent, and in the order of the nodes.
func (l Load) Store(ctx context.Context, conns []*Conn) error {
	clients := l.clients(conns)
	return inParallel(ctx, clients, func(ctx context.Context, c *loadClient) error {
		return c.within(ctx, "set", func() error {
			for number := c.number; number < l.Keys; number += len(clients) {
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

// Run sends the requests. conns has the same order as for Store. Run counts refused sets and missing values. It returns an error if a
// connection fails, or if a value has another size than ValueSize.
func (l Load) Run(ctx context.Context, conns []*Conn) (Served, error) {
	clients := l.clients(conns)
	began := time.Now()
	err := inParallel(ctx, clients, func(ctx context.Context, c *loadClient) error { return c.within(ctx, "load", c.run) })
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
	conns            []*Conn
	owner            Owner
	random           *rand.Rand
	keys             int
	limit            time.Duration
	value, request   []byte
	served           Served
}

// clients prepares the clients. The time of a run does not include this preparation.
func (l Load) clients(conns []*Conn) []*loadClient {
	shares := slices.Collect(slices.Chunk(conns, max(1, l.Nodes)))
	clients := make([]*loadClient, len(shares))
	for i, share := range shares {
		requests := l.Requests*(i+1)/len(shares) - l.Requests*i/len(shares)
		clients[i] = &loadClient{
			number: i, requests: requests, conns: share, owner: l.Owner, keys: l.Keys, limit: l.Limit, value: valueOf("load", l.ValueSize),
			random: rand.New(rand.NewPCG(l.Seed, uint64(i))),
			served: Served{Latencies: make([]time.Duration, 0, requests)},
		}
	}
	return clients
}

// within calls the function exchange, and interrupts it when the context ends. exchange may use all connections of the client.
func (c *loadClient) within(ctx context.Context, what string, exchange func() error) error {
	for _, conn := range c.conns {
		inner := exchange
		exchange = func() error { return conn.Within(ctx, what, inner) }
	}
	return exchange()
}

// ask sends c.request to the node that owns the key. It returns the connection to that node and the first line of the reply.
func (c *loadClient) ask(key string) (*Conn, string, error) {
	conn := c.conns[0]
	if len(c.conns) > 1 {
		conn = c.conns[c.owner(key)]
	}
	line, err := conn.Ask(c.request)
	return conn, line, err
}

func (c *loadClient) run() error {
	start := time.Now()
	for range c.requests {
		number, began := c.random.IntN(c.keys), time.Now()
		if c.limit > 0 && began.Sub(start) >= c.limit {
			return nil
		}
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

func (c *loadClient) set(number int) (string, error) {
	key := Key(number + 1)
	c.request = fmt.Appendf(c.request[:0], "set %s 0 0 %d"+crlf, key, len(c.value))
	c.request = append(append(c.request, c.value...), crlf...)
	_, line, err := c.ask(key)
	return line, err
}

// get reads the key with this number, and reports whether memcached has it.
func (c *loadClient) get(number int) (bool, error) {
	key := Key(number + 1)
	c.request = append(append(append(c.request[:0], "get "...), key...), crlf...)
	conn, line, err := c.ask(key)
	switch {
	case err != nil:
		return false, err
	case line == fmt.Sprintf("VALUE %s 0 %d", key, len(c.value)):
		return true, conn.Discard(len(c.value) + len(crlf+"END"+crlf))
	case strings.HasPrefix(line, "VALUE "):
		return false, fmt.Errorf("the reply to a get of %s is %q", key, line)
	default:
		return false, nil
	}
}
