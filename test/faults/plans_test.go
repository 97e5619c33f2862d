// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"flag"
	"strings"
	"sync/atomic"
	"testing"
)

// planCounts counts the plans that ran. A plan is a scenario of TestSweep with one fault. It does not reach its fault if the run lacks
// the write that should fail, or if the watch that should fail delivers no event.
type planCounts struct{ injected, notReached atomic.Int32 }

// fewestPlans is how many plans must inject their fault. Of 1,000 plans, at most notReachedPerThousand may miss their fault,
// because a few writes of a run depend on the load of the machine.
const (
	fewestPlans           = 900
	notReachedPerThousand = 50
)

// verify fails the test if no plan ran, if too few plans injected their fault, or if too many did not reach it. The limits do not
// apply if FAULT_PLAN selects a plan, and fewestPlans does not apply if -run selects plans. The last argument is the value of
// FAULT_PLAN.
func (p *planCounts) verify(t *testing.T, only string) {
	injected, notReached := p.injected.Load(), p.notReached.Load()
	t.Logf("the fault was injected in %d plans and not reached in %d", injected, notReached)
	selection := flag.Lookup("test.run").Value.String()
	switch {
	case t.Failed():
	case only != "" && injected+notReached == 0:
		t.Errorf("FAULT_PLAN is %s, which is none of the plans", only)
	case injected+notReached == 0:
		t.Errorf("-run %s selects no plan", selection)
	case only == "" && !strings.Contains(selection, "/") && injected < fewestPlans:
		t.Errorf("%d plans are fewer than %d", injected, fewestPlans)
	case only == "" && 1000*notReached > notReachedPerThousand*(injected+notReached):
		t.Errorf("the fault was not reached in %d of %d plans", notReached, injected+notReached)
	}
}
