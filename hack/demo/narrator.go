// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// indent separates text from the time in front of each chapter.
const indent = "          "

// Escape sequences of terminals.
const (
	bold  = "\x1b[1m"
	faint = "\x1b[2m"
	plain = "\x1b[0m"
)

// narrator writes the story.
type narrator struct {
	out     io.Writer
	started time.Time
	styled  bool
}

// newNarrator styles the text only on a terminal.
func newNarrator(out *os.File) *narrator {
	info, err := out.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == ""
	return &narrator{out: out, started: time.Now(), styled: terminal}
}

// title opens the story or its last part.
func (n *narrator) title(text string) {
	n.line("")
	n.line(n.style(bold, text))
}

// chapter announces a step with the time since the start.
func (n *narrator) chapter(number, of int, title string) {
	n.line("")
	n.line(n.elapsed() + n.style(bold, fmt.Sprintf("%d/%d %s", number, of, title)))
}

// command shows what a user would type.
func (n *narrator) command(command string) { n.block(n.style(bold, "$ "+command)) }

// outcome reports what has come true, with the time since the start.
func (n *narrator) outcome(format string, args ...any) {
	n.line(strings.TrimRight(n.elapsed()+fmt.Sprintf(format, args...), " "))
}

// block writes text of one or more lines, indented.
func (n *narrator) block(text string) {
	scanner := bufio.NewScanner(strings.NewReader(text))
	for scanner.Scan() {
		n.line(strings.TrimRight(indent+scanner.Text(), " "))
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

// line ignores errors: the story goes on even if nobody reads it.
func (n *narrator) line(text string) { _, _ = fmt.Fprintln(n.out, text) }
