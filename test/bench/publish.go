// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// The markers enclose the generated part of a Markdown file.
const (
	beginMarker = "<!-- begin of the results -->"
	endMarker   = "<!-- end of the results -->"
)

// publish prints the report, and writes the files that the options name. It updates the documentation only if all measurements
// succeeded.
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
			rows = append(rows, []string{string(m), one.Name, one.text() + " " + one.Unit, limit, string(one.verdict())})
		}
	}
	return rows
}

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

// number formats a value with two decimals, from 10 on with one, and from 100 on with none. Whole numbers have no decimals. The sign does
// not count.
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

// write prints both tables for a terminal.
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

// markdown returns the conditions and the results in Markdown, for the documentation.
func (r *report) markdown() string {
	c := r.Conditions
	var text strings.Builder
	fmt.Fprintf(&text, "Measured on %s in %s with %d CPUs and %s of memory (%s), Kubernetes %s, operator at commit %s; "+
		"rounds: %d.\n", c.Time.Format(time.DateOnly), c.Duration, c.CPUs, c.Memory, c.Platform, c.Kubernetes, c.Operator, c.Rounds)
	text.WriteString("\n| metric | what | value | at most |\n|---|---|---|---|\n")
	zeros := 0
	for _, m := range allMetrics {
		rows, ofMetric := r.published(m)
		zeros += ofMetric
		for _, row := range rows {
			fmt.Fprintf(&text, "| %s |\n", strings.Join(row, " | "))
		}
	}
	fmt.Fprintf(&text, "| all | counts that must be 0, and are: %d | 0 | 0 |\n", zeros)
	return text.String()
}

// published returns the rows of a metric for the documentation, without details. The results in a group share a row. Counts that must
// be 0 and are 0 get no row: published returns only their number, zeros.
func (r *report) published(m metric) (rows [][]string, zeros int) {
	var cases []*result
	for _, one := range r.Results {
		switch {
		case one.Metric != m || one.Detail:
		case one.verdict() == holds && *one.AtMost == 0 && one.Value == 0:
			zeros++
		default:
			cases = append(cases, one)
		}
	}
	for len(cases) > 0 {
		first := cases[0]
		var same []*result
		for _, one := range cases {
			if one.group() == first.group() {
				same = append(same, one)
			}
		}
		cases = slices.DeleteFunc(cases, func(one *result) bool { return one.group() == first.group() })
		rows = append(rows, publishedRow(same))
	}
	return rows, zeros
}

func publishedRow(same []*result) []string {
	one := same[0]
	what, value := one.Name, one.text()
	if len(same) > 1 {
		what, _ = one.splitName()
		var values []string
		for _, each := range same {
			_, name := each.splitName()
			values = append(values, name+": "+each.text())
		}
		value = strings.Join(values, "; ")
		if !slices.ContainsFunc(same, func(each *result) bool { return each.text() != one.text() }) {
			value = fmt.Sprintf("each of %d cases: %s", len(same), one.text())
		}
	}
	return []string{string(one.Metric), what, value + " " + one.Unit, one.group().limit}
}

// group is what the results in one row of the documentation have in common.
type group struct{ what, unit, limit string }

func (r *result) group() group {
	what, _ := r.splitName()
	limit := ""
	if r.AtMost != nil {
		limit = number(*r.AtMost)
	}
	if v := r.verdict(); v == missed || v == unmeasured {
		limit += ": " + string(v)
	}
	return group{what, r.Unit, limit}
}

// splitName splits the name of a result at the last colon or, without a colon, at the last comma: "child writes: deleted" becomes
// "child writes" and "deleted".
func (r *result) splitName() (quantity, name string) {
	for _, separator := range []string{": ", ", "} {
		if i := strings.LastIndex(r.Name, separator); i >= 0 {
			return r.Name[:i], r.Name[i+len(separator):]
		}
	}
	return r.Name, ""
}

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
