// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// indent is in front of commands and their output. It is as wide as the time in front of chapters and outcomes.
const indent = "          "

// Escape sequences of terminals.
const (
	bold  = "\x1b[1m"
	faint = "\x1b[2m"
	plain = "\x1b[0m"
)

// Readers get timeToRead for each piece of text, plus timeToReadLine for each of its lines.
const (
	timeToRead     = 700 * time.Millisecond
	timeToReadLine = 150 * time.Millisecond
)

// longestSilence is how long, at most, the narrator writes nothing during a long step.
const longestSilence = 3 * time.Second

// narrator writes the story.
type narrator struct {
	out     io.Writer
	started time.Time
	// styled makes some text bold or faint. paced delays each piece of text until users have read the previous one.
	styled, paced bool
	// interrupted ends all pauses when it is closed.
	interrupted <-chan struct{}

	mu sync.Mutex
	// readAt is when users will have read the text so far.
	readAt time.Time
	// awaited is what the current step waits for.
	awaited string
}

// newNarrator returns a narrator. On a terminal, the narrator styles its text, unless NO_COLOR is set or the terminal supports no styles.
// On a terminal, it also paces the text, unless nobody reads along: then CI is set, or the argument exit is true.
func newNarrator(ctx context.Context, out *os.File, exit bool, getenv func(string) string) *narrator {
	terminal := term.IsTerminal(int(out.Fd()))
	return &narrator{
		out: out, started: time.Now(), interrupted: ctx.Done(),
		styled: terminal && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb",
		paced:  terminal && !exit && getenv("CI") == "",
	}
}

func (n *narrator) title(text string) { n.write("", n.style(bold, text)) }

// chapter writes the title of a chapter, with the time since the start.
func (n *narrator) chapter(number, of int, title string) {
	n.write("", n.elapsed()+n.style(bold, fmt.Sprintf("%d/%d %s", number, of, title)))
}

// command shows the command that a user would type.
func (n *narrator) command(command string) { n.block(n.style(bold, "$ "+command)) }

// outcome reports a result, with the time since the start.
func (n *narrator) outcome(format string, args ...any) {
	n.write(strings.TrimRight(n.elapsed()+fmt.Sprintf(format, args...), " "))
}

// block writes indented text of one or more lines.
func (n *narrator) block(text string) {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(indent+strings.TrimSuffix(line, "\n"), " "))
	}
	n.write(lines...)
}

// Write writes the output of a command, indented. It assumes that each call contains complete lines.
func (n *narrator) Write(output []byte) (int, error) {
	n.block(string(output))
	return len(output), nil
}

// await sets what the current step waits for. breakSilence prints it if the step takes long.
func (n *narrator) await(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.awaited = what
}

// breakSilence prints what the current step waits for, each time that the narrator has written nothing for longestSilence. It returns
// when the context ends.
func (n *narrator) breakSilence(ctx context.Context) {
	for {
		n.mu.Lock()
		silent := n.readAt
		n.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(silent.Add(longestSilence))):
		}
		n.mu.Lock()
		if ctx.Err() == nil && n.readAt.Equal(silent) {
			n.print(n.elapsed() + n.style(faint, "still waiting: "+cmp.Or(n.awaited, "this takes a few seconds")))
		}
		n.mu.Unlock()
	}
}

func (n *narrator) elapsed() string {
	return n.style(faint, fmt.Sprintf("%7.1fs", time.Since(n.started).Seconds())) + "  "
}

func (n *narrator) style(sequence, text string) string {
	if !n.styled {
		return text
	}
	return sequence + text + plain
}

// write writes lines. If the narrator is paced, it first waits until users have read the previous text.
func (n *narrator) write(lines ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.paced {
		select {
		case <-n.interrupted:
		case <-time.After(time.Until(n.readAt)):
		}
	}
	n.print(lines...)
}

// print writes lines at once. It ignores errors, because the demo continues even if its output is closed.
func (n *narrator) print(lines ...string) {
	for _, line := range lines {
		_, _ = fmt.Fprintln(n.out, line)
	}
	n.readAt = time.Now()
	if n.paced {
		n.readAt = n.readAt.Add(timeToRead + time.Duration(len(lines))*timeToReadLine)
	}
}
