// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/traffic"
)

// What the story writes: enough keys to tell percentages apart.
const keys, valueSize = 10_000, 100

// writeKeys fills the cache as an application does, through a hash ring over status.nodes. On simulated nodes there is none.
func (d *demo) writeKeys(ctx context.Context, mc *cachev1alpha1.Memcached) error {
	return d.withCache(ctx, mc, func(cache *traffic.Client) error {
		if err := cache.Write(ctx, keys, valueSize); err != nil {
			return fmt.Errorf("writing keys: %w", err)
		}
		d.out.outcome("%d keys are written through a ketama ring over status.nodes.", keys)
		return d.read(ctx, cache, "", keys)
	})
}

// readKeys reads the keys again with the nodes that there are now, and tells what has become of them. It fails when fewer
// than the least number are found.
func (d *demo) readKeys(ctx context.Context, mc *cachev1alpha1.Memcached, why string, least int) error {
	return d.withCache(ctx, mc, func(cache *traffic.Client) error { return d.read(ctx, cache, why, least) })
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

func (d *demo) withCache(ctx context.Context, mc *cachev1alpha1.Memcached, use func(*traffic.Client) error) (err error) {
	if !d.stage.servesData() {
		return nil
	}
	servers := make([]traffic.Server, 0, len(mc.Status.Nodes))
	for _, name := range mc.Status.Nodes {
		var pod corev1.Pod
		if err := d.k8s.Get(ctx, client.ObjectKey{Namespace: mc.Namespace, Name: name}, &pod); err != nil {
			return err
		}
		servers = append(servers, traffic.Server{Name: name, Address: net.JoinHostPort(pod.Status.PodIP, "11211")})
	}
	ring, err := traffic.NewRing(servers...)
	if err != nil {
		return err
	}
	cache := traffic.NewClient(ring, nil)
	defer func() { err = errors.Join(err, cache.Close()) }()
	return use(cache)
}
