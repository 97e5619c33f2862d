// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
)

// The markers enclose the generated part of a Markdown file.
const (
	beginMarker = "<!-- begin of the results -->"
	endMarker   = "<!-- end of the results -->"
)

// publish prints the report and writes the files that the options name. It updates the documentation only with a complete
// report.
func (b *bench) publish(complete bool) error {
	b.report.Conditions.Duration = time.Since(b.began).Round(time.Second)
	failures := []error{b.report.write(b.out)}
	if b.options.jsonFile != "" {
		content, err := json.MarshalIndent(b.report, "", "  ")
		failures = append(failures, err, os.WriteFile(b.options.jsonFile, append(content, '\n'), 0o600))
	}
	if b.options.updated != "" && complete {
		failures = append(failures, updateFile(b.options.updated, b.report.markdown()))
	}
	return errors.Join(failures...)
}

// rows are the results as text, with a heading.
func (r *report) rows() [][]string {
	rows := [][]string{{"metric", "what", "value", "must hold", "verdict"}}
	for _, m := range allMetrics {
		for _, one := range r.Results {
			if one.Metric != m {
				continue
			}
			limit := ""
			if one.AtMost != nil {
				limit = "at most " + number(*one.AtMost)
			}
			rows = append(rows, []string{string(m), one.Name, number(one.Value) + " " + one.Unit, limit, string(one.verdict())})
		}
	}
	return rows
}

// phaseRows are the requests as text, with a heading.
func (r *report) phaseRows() [][]string {
	columns := []column{accepted, rejected, get, list, watch, leases, events, others}
	heading := []string{"metric", "phase", "writes", "rejected", "no-op", "get", "list", "watch", "leases", "events", "others"}
	rows := [][]string{heading}
	for _, p := range r.Phases {
		row := []string{string(p.Metric), p.Name}
		for _, c := range columns {
			row = append(row, fmt.Sprint(p.Counts[c]))
			if c == rejected {
				row = append(row, p.noOps())
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func (p phase) noOps() string {
	if p.NoOps < 0 {
		return "-"
	}
	return fmt.Sprint(p.NoOps)
}

// number prints three significant digits, or all digits before the decimal point.
func number(value float64) string {
	switch {
	case value == float64(int64(value)):
		return fmt.Sprintf("%d", int64(value))
	case value >= 100 || value <= -100:
		return fmt.Sprintf("%.0f", value)
	case value >= 10 || value <= -10:
		return fmt.Sprintf("%.1f", value)
	default:
		return fmt.Sprintf("%.2f", value)
	}
}

// write prints the tables for a terminal.
func (r *report) write(out io.Writer) error {
	for _, rows := range [][][]string{r.phaseRows(), r.rows()} {
		fmt.Fprintln(out)
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, row := range rows {
			fmt.Fprintln(table, strings.Join(row, "\t"))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// markdown returns the conditions and the tables.
func (r *report) markdown() string {
	c := r.Conditions
	var text strings.Builder
	fmt.Fprintf(&text, "Measured on %s in %s with %d CPUs and %s of memory (%s), Kubernetes %s, operator at commit %s; "+
		"rounds: %d.\n", c.Time.Format(time.DateOnly), c.Duration, c.CPUs, c.Memory, c.Platform, c.Kubernetes, c.Operator, c.Rounds)
	for _, rows := range [][][]string{r.rows(), r.phaseRows()} {
		text.WriteString("\n")
		for i, row := range rows {
			fmt.Fprintf(&text, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				text.WriteString(strings.Repeat("|---", len(row)) + "|\n")
			}
		}
	}
	return text.String()
}

// updateFile replaces the text between the markers of a file.
func updateFile(name, content string) error {
	before, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	after, err := replaceResults(string(before), content)
	if err != nil {
		return fmt.Errorf("updating %s: %w", name, err)
	}
	return os.WriteFile(name, []byte(after), 0o644) //nolint:gosec // documentation is public
}

func replaceResults(text, content string) (string, error) {
	head, rest, found := strings.Cut(text, beginMarker)
	_, tail, foundToo := strings.Cut(rest, endMarker)
	if !found || !foundToo {
		return "", fmt.Errorf("it does not contain %s followed by %s", beginMarker, endMarker)
	}
	return head + beginMarker + "\n" + content + endMarker + tail, nil
}
