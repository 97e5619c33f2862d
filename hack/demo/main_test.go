// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// interruptedStage is a stage whose first command Ctrl-C interrupts.
type interruptedStage struct {
	stage
	cancel context.CancelFunc
}

func (interruptedStage) name() string { return "a test" }

func (s interruptedStage) opening() []chapter {
	return []chapter{{"make deploy runs", func(context.Context, *demo) error {
		s.cancel()
		return errors.New("make deploy: signal: interrupt")
	}}}
}

func TestACommandThatCtrlCEndsIsNoFailure(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := &demo{out: &narrator{out: io.Discard}, stage: interruptedStage{cancel: cancel}}
	if err := run(ctx, d, false); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// The demo fails if a step fails, or if it cannot remove everything. Ctrl-C is a success for a user. With DEMO_EXIT=1, as in a script,
// Ctrl-C is a failure.
func TestHowTheDemoEnds(t *testing.T) {
	broken := errors.New("broken")
	canceled := fmt.Errorf("step 3: %w", context.Canceled)
	for name, test := range map[string]struct {
		err, stopErr   error
		canceled, exit bool
		status         int
		says           string
	}{
		"the story ends":                         {exit: true, status: succeeded},
		"Ctrl-C after the story":                 {canceled: true, status: succeeded},
		"Ctrl-C in the story":                    {err: canceled, canceled: true, status: succeeded},
		"Ctrl-C with DEMO_EXIT=1":                {canceled, nil, true, true, interrupted, "Interrupted before"},
		"a step fails":                           {err: broken, status: failed, says: "The demo failed: broken"},
		"a step fails before Ctrl-C":             {err: broken, canceled: true, status: failed, says: "The demo failed: broken"},
		"something remains":                      {stopErr: broken, status: failed, says: "could not remove everything: broken"},
		"something remains after Ctrl-C":         {canceled, broken, true, false, failed, "remove everything: broken\nstep 3"},
		"a cancellation that is not by a signal": {err: canceled, status: failed, says: "The demo failed: step 3"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			d := &demo{out: &narrator{out: &out}}
			if got := d.end(test.err, test.stopErr, test.canceled, test.exit); got != test.status {
				t.Errorf("exit status %d, want %d", got, test.status)
			}
			if said := out.String(); !strings.Contains(said, test.says) || test.says == "" && said != "" {
				t.Errorf("it says %q, want %q", said, test.says)
			}
		})
	}
}
