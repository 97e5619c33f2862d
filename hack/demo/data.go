// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/example/memcached-operator/test/traffic"
)

// keys is how many keys the story writes: enough that each node gets about the same share. valueSize is the length of each value in bytes.
const keys, valueSize = 10_000, 100

// writeKeys writes the keys as an application does, through a hash ring over status.nodes, and reads them back. It does nothing on
// simulated nodes, which store nothing.
func (d *demo) writeKeys(ctx context.Context) error {
	return d.withCache(ctx, func(cache *traffic.Client) error {
		if err := cache.Write(ctx, keys, valueSize); err != nil {
			return fmt.Errorf("writing keys: %w", err)
		}
		d.out.outcome("%d keys are written through a ketama ring over status.nodes.", keys)
		return d.read(ctx, cache, "", keys)
	})
}

// readKeys returns a step that reads all keys from the current nodes. The step prints how many it finds, and then the text "why", which
// explains the number. It fails if the number is lower than the argument least.
func (d *demo) readKeys(why string, least int) step {
	return func(ctx context.Context) error {
		return d.withCache(ctx, func(cache *traffic.Client) error { return d.read(ctx, cache, why, least) })
	}
}

func (d *demo) read(ctx context.Context, cache *traffic.Client, why string, least int) error {
	hits, err := cache.Read(ctx, keys)
	if err != nil {
		return fmt.Errorf("reading keys: %w", err)
	}
	d.out.outcome("%d of %d keys are found. %s", hits.Hits, hits.Keys, why)
	if hits.Wrong > 0 || hits.Errors > 0 || hits.Hits < least {
		return fmt.Errorf("at least %d keys and no error were expected: %+v", least, hits)
	}
	return nil
}

func (d *demo) withCache(ctx context.Context, use func(*traffic.Client) error) (err error) {
	if !d.stage.servesData() {
		return nil
	}
	servers, err := traffic.Servers(ctx, d.k8s, namespace, d.mc.Status.Nodes)
	if err != nil {
		return err
	}
	ring, err := traffic.NewRing(servers...)
	if err != nil {
		return err
	}
	cache := traffic.NewClient(ring, nil)
	defer func() { err = errors.Join(err, cache.Close()) }()
	return use(cache)
}
