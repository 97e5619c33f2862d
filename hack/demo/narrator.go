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

	"golang.org/x/term"
)

// indent is in front of commands and their output. It is as wide as the time in front of titles and outcomes.
const indent = "          "

// Escape sequences of terminals.
const (
	bold  = "\x1b[1m"
	faint = "\x1b[2m"
	plain = "\x1b[0m"
)

// narrator writes the story. On a terminal, it styles its text, and pauses so that users can read.
type narrator struct {
	started       time.Time
	styled, paced bool
}

func newNarrator(out *os.File, read bool) *narrator {
	terminal := term.IsTerminal(int(out.Fd()))
	return &narrator{
		started: time.Now(), paced: terminal && read,
		styled: terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
}

func (n *narrator) title(text string) {
	fmt.Println()
	n.outcome("%s", n.style(bold, text))
}

// command shows the command that a user would type.
func (n *narrator) command(text string) { n.block(n.style(bold, "$ "+text)) }

func (n *narrator) waits(text string) {
	fmt.Println(n.elapsed() + n.style(faint, fmt.Sprintf("still waiting: %.120s", text)))
}

func (n *narrator) outcome(format string, args ...any) {
	fmt.Println(strings.TrimRight(n.elapsed()+fmt.Sprintf(format, args...), " "))
	n.pause(1)
}

func (n *narrator) block(text string) { n.lines(strings.NewReader(text)) }

// lines writes text indented, line by line as it comes.
func (n *narrator) lines(text io.Reader) {
	lines := bufio.NewScanner(text)
	count := 0
	for ; lines.Scan(); count++ {
		fmt.Println(strings.TrimRight(indent+lines.Text(), " "))
	}
	n.pause(count)
}

func (n *narrator) pause(lines int) {
	if n.paced {
		time.Sleep(700*time.Millisecond + time.Duration(lines)*150*time.Millisecond)
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
