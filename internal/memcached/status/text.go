// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var generatedName = regexp.MustCompile(`\b([Pp]ods?) "[^"]*"`)

// SanitizeMessage makes a message of the cluster fit for conditions and events: one line of visible text, short enough for an
// event. It leaves out generated pod names, which differ at every retry.
func SanitizeMessage(message string) string {
	return shorten(plain(generatedName.ReplaceAllString(message, "$1")), longestMessage)
}

// longestMessage is the longest message that an event may have, in bytes.
const longestMessage = 1024

// shorten cuts a message to at most this number of bytes. A cut message ends with an ellipsis.
func shorten(message string, longest int) string {
	const more = "…"
	if len(message) <= longest {
		return message
	}
	end := longest - len(more)
	for !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end] + more
}

// withRunbook adds a link to a section of the runbook. It shortens a long message so that the link fits.
func withRunbook(message, section string) string {
	link := "See docs/operations/runbook.md#" + section
	message = shorten(message, longestMessage-len(". "+link))
	if !strings.HasSuffix(message, ".") && !strings.HasSuffix(message, "…") {
		message += "."
	}
	return message + " " + link
}

// quoted puts a container's message in quotation marks, so that it cannot pass for the operator's own words: somebody else may
// control the image. It shortens a long message.
func quoted(message string) string {
	const longest = 512 // leaves room for the operator's own words
	return `"` + shorten(strings.ReplaceAll(plain(message), `"`, "'"), longest) + `"`
}

// plain turns text of the cluster into one line of visible characters.
func plain(text string) string {
	return strings.TrimSpace(strings.Map(visible, strings.ToValidUTF8(text, "\uFFFD")))
}

// visible replaces characters that control a terminal or the direction of text.
func visible(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
		return unicode.ReplacementChar
	}
	return r
}

// when returns the message if this holds, and "" otherwise.
func when(holds bool, format string, args ...any) string {
	if !holds {
		return ""
	}
	return fmt.Sprintf(format, args...)
}
