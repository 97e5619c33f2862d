// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcache"
)

// askTimeout limits each exchange with memcached, including connecting and logging in.
const askTimeout = time.Second

// ask connects to memcached, logs in if memcached demands it, and calls question.
func ask(ctx context.Context, address string, list protocol.List, question func(context.Context, *memcache.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	conn, err := memcache.Dial(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close()                      //nolint:errcheck // memcached has answered, so an error changes nothing
	demanded, err := conn.DemandsLogin(ctx) // this fails at memcached's connection limit
	if err == nil && demanded {
		err = logIn(ctx, conn, list.Value("-Y"))
	}
	if err != nil {
		return err
	}
	return question(ctx, conn)
}

// answers returns nil if memcached answers. A refusal because clients use all connections counts as an answer.
func answers(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	conn, err := memcache.Dial(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the answer counts
	if _, err := conn.DemandsLogin(ctx); err != nil && !errors.Is(err, memcache.ErrConnectionLimit) {
		return err
	}
	return nil
}

// logIn logs in as the first user in memcached's file of users.
func logIn(ctx context.Context, conn *memcache.Conn, users string) error {
	text, err := os.ReadFile(users) //nolint:gosec // the operator names it
	if err != nil {
		return err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	name, password, _ := strings.Cut(line, ":")
	accepted, err := conn.LogIn(ctx, name, password)
	if err == nil && !accepted {
		err = errors.New("memcached refuses the first of its users")
	}
	return err
}

// count returns the number of items in memcached, -1 if unknown.
func count(ctx context.Context, address string, list protocol.List) int64 {
	items := int64(-1)
	err := ask(ctx, address, list, func(ctx context.Context, conn *memcache.Conn) error {
		stats, err := conn.Stats(ctx)
		if err == nil {
			items, err = strconv.ParseInt(stats["curr_items"], 10, 64)
		}
		return err
	})
	if err != nil {
		return -1
	}
	return items
}

var (
	errCrawling = errors.New("memcached's crawler runs, perhaps for a client that lists keys")
	errMoving   = errors.New("memcached moves a page of memory, perhaps one with the item of a slow client")
)

// rests returns nil if memcached answers that its LRU crawler and the thread that moves pages between slab classes are idle.
func rests(ctx context.Context, address string, list protocol.List) error {
	return ask(ctx, address, list, func(ctx context.Context, conn *memcache.Conn) error {
		stats, err := conn.Stats(ctx)
		switch {
		case err != nil:
			return err
		case stats["lru_crawler_running"] == "1":
			return errCrawling
		case stats["slab_reassign_running"] == "1":
			return errMoving
		default:
			return nil
		}
	})
}

// errAnswer means that memcached refused a request.
var errAnswer = errors.New("memcached refuses")

func grow(ctx context.Context, address string, before, after protocol.List) error {
	return ask(ctx, address, before, func(ctx context.Context, conn *memcache.Conn) error {
		command := "cache_memlimit " + after.Value("-m")
		reply, err := conn.Command(ctx, command)
		if err == nil && reply != "OK" {
			err = fmt.Errorf("%w: %s: %q", errAnswer, command, reply)
		}
		return err
	})
}
