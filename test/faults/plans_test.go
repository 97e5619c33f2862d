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

// plans counts those that were played: with their fault, or without since the operator does not always make the write.
type plans struct{ bitten, spared atomic.Int32 }

// Of the writes of a play, few depend on how busy the machine is.
const (
	fewestPlans       = 600
	sparedPerThousand = 50
)

// judge fails if plans did not bite. A part of the scenarios, as -run selects it, has fewer.
func (p *plans) judge(t *testing.T, only string) {
	bitten, spared := p.bitten.Load(), p.spared.Load()
	t.Logf("%d plans with their faults, and %d without, as the operator does not always make the write", bitten, spared)
	selection := flag.Lookup("test.run").Value.String()
	switch {
	case t.Failed():
	case only != "" && bitten+spared == 0:
		t.Errorf("FAULT_PLAN is %s, which is none of the plans", only)
	case only == "" && !strings.Contains(selection, "/") && bitten < fewestPlans:
		t.Errorf("%d plans are fewer than %d", bitten, fewestPlans)
	case only == "" && 1000*spared > sparedPerThousand*(bitten+spared):
		t.Errorf("%d of %d plans had no fault", spared, bitten+spared)
	}
}
