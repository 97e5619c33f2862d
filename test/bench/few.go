// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
)

// few measures the memory of an operator without Memcacheds, and then with n.
func (b *bench) few(ctx context.Context, t *testbed, n int) error {
	o, ready, err := t.startOperatorFor(ctx, n)
	if err != nil {
		return err
	}
	defer ready.stop()
	if err := pause(ctx, quietPeriod); err != nil {
		return err
	}
	none, err := usageOf(o.Pid())
	if err != nil {
		return err
	}
	if _, _, err := t.createReady(ctx, ready, n); err != nil {
		return err
	}
	if _, err := t.waitUntilQuiet(ctx, 0, o.user); err != nil {
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
