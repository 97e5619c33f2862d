// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
)

// few measures the memory of an operator that has nothing to do, and with n Memcacheds.
func (b *bench) few(ctx context.Context, r *rig, n int) error {
	if err := r.createNamespaces(ctx, n, true); err != nil {
		return err
	}
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	ready, err := r.tally(following, memcachedList(), isReady)
	if err != nil {
		return err
	}
	o, err := r.startOperator(ctx)
	if err != nil {
		return err
	}
	if err := pause(ctx, silence); err != nil {
		return err
	}
	none, err := usageOf(o.Pid())
	if err != nil {
		return err
	}
	if _, err := r.createMemcacheds(ctx, n); err != nil {
		return err
	}
	if _, err := ready.reach(ctx, n); err != nil {
		return fmt.Errorf("waiting for Memcacheds to be ready: %w", err)
	}
	if _, err := r.silent(ctx, 0, o.user); err != nil {
		return err
	}
	some, err := usageOf(o.Pid())
	if err != nil {
		return err
	}
	b.report.add(footprint, "memory without a resource", "MiB", none.resident)
	b.report.add(footprint, "memory without a resource, of which the program itself", "MiB", none.program)
	b.report.add(footprint, fmt.Sprintf("memory with %d resources and their %d pods (aim 60)", n, n*size), "MiB", some.resident)
	return nil
}
