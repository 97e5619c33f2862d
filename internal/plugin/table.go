// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/duration"
)

// color is a terminal's escape sequence for a color, or empty.
type color string

const (
	plain  color = ""
	red    color = "\033[31m"
	green  color = "\033[32m"
	yellow color = "\033[33m"
	reset        = "\033[0m"
)

// cell is a text with its color on a terminal.
type cell struct {
	text  string
	color color
}

func text(value string) cell { return cell{text: value} }

// columnGap separates columns, as in the tables of kubectl.
const columnGap = "   "

// writeTable writes rows with aligned columns. It replaces control characters in all texts.
func writeTable(out io.Writer, colored bool, rows [][]cell) {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(printable(c.text)))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, c := range row {
			shown := printable(c.text)
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(shown))
			if colored && c.color != plain {
				shown = string(c.color) + shown + reset
			}
			line.WriteString(shown + padding + columnGap)
		}
		fmt.Fprintln(out, strings.TrimRight(line.String(), " "))
	}
}

// printable replaces characters that control a terminal or change the order of the surrounding text.
func printable(value string) string {
	return strings.Map(func(character rune) rune {
		if unicode.In(character, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			return '?'
		}
		return character
	}, value)
}

func isTerminal(stream any) bool {
	file, isFile := stream.(*os.File)
	return isFile && term.IsTerminal(int(file.Fd()))
}

// colored reports whether the output may have colors. It follows https://no-color.org.
func (s *session) colored() bool {
	return isTerminal(s.Out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// unknownText is shown for unknown values.
const unknownText = "-"

// mebibytes formats a number of bytes, such as "64.0Mi" or, from 10 GiB on, "10.0Gi".
func mebibytes(bytes int64) string {
	const mebibyte, gibibyte = 1 << 20, 1 << 30
	if bytes >= 10*gibibyte {
		return fmt.Sprintf("%.1fGi", float64(bytes)/gibibyte)
	}
	return fmt.Sprintf("%.1fMi", float64(bytes)/mebibyte)
}

func percent(share *float64) string {
	if share == nil {
		return unknownText
	}
	return fmt.Sprintf("%.1f%%", *share*100)
}

func perSecond(rate *float64) string {
	if rate == nil {
		return unknownText
	}
	return fmt.Sprintf("%.1f", *rate)
}

func age(seconds int64) string { return duration.HumanDuration(time.Duration(seconds) * time.Second) }
