// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
)

// few is the part of M7 that measures the memory of an operator: first without Memcacheds, and then with n.
func (b *bench) few(ctx context.Context, t *testbed, n int) {
	o, ready := t.startOperatorFor(ctx, n)
	defer ready.stop()
	check(pause(ctx, quietPeriod))
	none := must(usageOf(o.Pid()))
	t.createReady(ctx, ready, n)
	t.waitUntilQuiet(ctx, 0, o.user)
	some := must(usageOf(o.Pid()))
	b.report.add(footprint, "memory without a resource", "MiB", none.resident)
	b.report.addDetail(footprint, "memory without a resource, of which the program itself", "MiB", none.program)
	b.report.add(footprint, fmt.Sprintf("memory with %d resources and their %d pods (aim 60)", n, n*size), "MiB", some.resident)
}
