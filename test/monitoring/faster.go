// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package monitoring reads the rules and the dashboards in config/components/monitoring, and queries a Prometheus. Faster shortens the
// durations in both, so that a test takes minutes instead of days.
package monitoring

import (
	"regexp"

	"github.com/prometheus/common/model"
)

// duration matches a duration after its prefix: as a range, the step of a range, an offset, or the wait of an alert.
var duration = regexp.MustCompile(`(\[|:|\boffset |\bfor: )(\d+(?:ms|[smhdwy]))\b`)

// Faster divides every duration in the text of rules or dashboards by a factor, and changes nothing else. Tests that scrape more often by
// the same factor then need less time.
func Faster(text string, factor int64) string {
	return duration.ReplaceAllStringFunc(text, func(match string) string {
		parts := duration.FindStringSubmatch(match)
		long, err := model.ParseDuration(parts[2])
		if err != nil {
			panic(err) // what the pattern matches is a duration
		}
		return parts[1] + (long / model.Duration(factor)).String()
	})
}
