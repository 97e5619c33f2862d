// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

// planCounts counts the plans that ran: with the fault injected, or without because the operator did not send the write.
type planCounts struct{ injected, notReached atomic.Int32 }

// Few of the writes in a run depend on the load of the machine.
const (
	fewestPlans           = 900
	notReachedPerThousand = 50
)

// verify fails if too few plans injected their fault. A selection of scenarios by -run has fewer plans.
func (p *planCounts) verify(t *testing.T, only string, of part) {
	injected, notReached := p.injected.Load(), p.notReached.Load()
	t.Logf("the fault was injected in %d plans and not reached in %d", injected, notReached)
	selection := flag.Lookup("test.run").Value.String()
	switch {
	case t.Failed():
	case only != "" && injected+notReached == 0:
		t.Errorf("FAULT_PLAN is %s, which is none of the plans", only)
	case only == "" && !strings.Contains(selection, "/") && injected < fewestPlans/of.all:
		t.Errorf("%d plans are fewer than %d", injected, fewestPlans/of.all)
	case only == "" && 1000*notReached > notReachedPerThousand*(injected+notReached):
		t.Errorf("the fault was not reached in %d of %d plans", notReached, injected+notReached)
	}
}

// part is one of several equal parts of the plans.
type part struct{ number, all int32 }

// partOf reads a part such as 1/3. Without a text it is all.
func partOf(t *testing.T, text string) part {
	t.Helper()
	p := part{1, 1}
	if text == "" {
		return p
	}
	if n, err := fmt.Sscanf(text, "%d/%d", &p.number, &p.all); n != 2 || err != nil || p.number < 1 || p.number > p.all {
		t.Fatalf("FAULT_SHARE is %q, but must be a part such as 1/3", text)
	}
	return p
}

// has reports whether a plan belongs to the part.
func (p part) has(plan int) bool { return plan%int(p.all) == int(p.number)-1 }
