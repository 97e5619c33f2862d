// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tell runs a story on a simulated clock. The function change can change the narrator before the story. tell returns the output and the
// duration.
func tell(t *testing.T, change, story func(*narrator)) (text string, took time.Duration) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		var out strings.Builder
		n := &narrator{out: &out, started: time.Now()}
		change(n)
		story(n)
		text, took = out.String(), time.Since(n.started)
	})
	return text, took
}

func TestReadersGetTimeToRead(t *testing.T) {
	story := func(n *narrator) {
		n.command("kubectl get pods")
		n.block("NAME\na\nb\n")
		n.outcome("Done.")
	}
	const want = "          $ kubectl get pods\n          NAME\n          a\n          b\n"
	text, took := tell(t, func(*narrator) {}, story)
	if diff := cmp.Diff(want+"    0.0s  Done.\n", text); diff != "" || took != 0 {
		t.Errorf("without a pace, it took %s:\n%s", took, diff)
	}
	text, took = tell(t, func(n *narrator) { n.paced = true }, story)
	// An outcome shows the time when it happened, not the later time when it is printed.
	if diff := cmp.Diff(want+"    0.8s  Done.\n", text); diff != "" || took != 2*timeToRead+4*timeToReadLine {
		t.Errorf("with a pace, it took %s:\n%s", took, diff)
	}
}

// If a step takes longer than reading the text before it, the narrator must not pause.
func TestThePaceIsNoDelay(t *testing.T) {
	_, took := tell(t, func(n *narrator) { n.paced = true }, func(n *narrator) {
		n.command("kubectl get pods")
		time.Sleep(time.Minute)
		n.outcome("Done.")
	})
	if took != time.Minute {
		t.Errorf("it took %s", took)
	}
}

func TestInterruptionEndsPauses(t *testing.T) {
	interrupted := make(chan struct{})
	close(interrupted)
	_, took := tell(t, func(n *narrator) { n.paced, n.interrupted = true, interrupted }, func(n *narrator) {
		n.command("kubectl get pods")
		n.command("kubectl get pods")
	})
	if took != 0 {
		t.Errorf("it took %s", took)
	}
}

func TestSilenceIsBroken(t *testing.T) {
	text, _ := tell(t, func(*narrator) {}, func(n *narrator) {
		ctx, stop := context.WithCancel(context.Background())
		go n.breakSilence(ctx)
		n.command("make deploy")
		time.Sleep(longestSilence + time.Second)
		n.await("Ready is False")
		time.Sleep(longestSilence)
		n.outcome("Done.")
		time.Sleep(longestSilence - time.Second)
		stop()
		synctest.Wait()
		time.Sleep(time.Hour)
	})
	const want = "          $ make deploy\n" +
		"    3.0s  still waiting: this takes a few seconds\n" +
		"    6.0s  still waiting: Ready is False\n" +
		"    7.0s  Done.\n"
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyTerminalsAreStyledAndPaced(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	null, err := os.Open(os.DevNull) // a device, but not a terminal
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	for _, out := range []*os.File{file, null} {
		if n := newNarrator(t.Context(), out, false, func(string) string { return "" }); n.styled || n.paced {
			t.Errorf("%s: styled %t, paced %t", out.Name(), n.styled, n.paced)
		}
	}
}
