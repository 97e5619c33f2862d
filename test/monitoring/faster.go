// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package monitoring parses the rules and dashboards in config/components/monitoring, shortens their durations so that a test takes
// minutes instead of days, and queries a Prometheus.
package monitoring

import (
	"regexp"

	"github.com/prometheus/common/model"
)

// duration matches the duration of a range, of a subquery's step, of an offset, or of the "for" of an alert. Group 1 is the text
// before the duration, and group 2 is the duration.
var duration = regexp.MustCompile(`(\[|:|\boffset |\bfor: )(\d+(?:ms|[smhdwy]))\b`)

// Faster divides the durations in the expressions of rules or dashboards, and the "for" of each alert, by a factor. The caller must
// shorten the scrape interval, too, so that each range still contains several scrapes.
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
