// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/example/memcached-operator/internal/memcache"
)

// Collect sends the series of the statistics, except memcached_up (Up). If a value is not a number, Collect leaves out the series of
// that value, and returns an error about the value.
func (s *Stats) Collect(series chan<- prometheus.Metric) error {
	c := &collection{series: series}
	c.addVersion(s.General)
	c.add(process, s.General)
	c.add(storage, s.General)
	// cmd_set includes the cas commands.
	c.addDifference(commands, s.General, []string{"cmd_set", "cas_misses", "cas_hits", "cas_badval"}, "set", "hit")
	c.add(settings, s.Settings)
	if s.Settings["lru_crawler"] == "yes" {
		c.add(crawlerSettings, s.Settings)
	}
	for class, values := range s.Items {
		c.add(items, values, strconv.Itoa(class))
	}
	for class, values := range s.Slabs {
		c.add(slabs, values, strconv.Itoa(class))
		c.addDifference(slabCommands, values, []string{"cmd_set", "cas_hits", "cas_badval"}, strconv.Itoa(class), "set", "hit")
	}
	return c.err
}

// collection sends series. err is about the last malformed value or name, or nil.
type collection struct {
	series chan<- prometheus.Metric
	err    error
}

func (c *collection) addVersion(values map[string]string) {
	if text, found := values["version"]; found && printable(text) {
		c.series <- version.Metric(1, text)
	}
}

// add sends a series for each source whose statistic is a number. The argument labels precedes the labels of the source.
func (c *collection) add(sources []source, values map[string]string, labels ...string) {
	for _, from := range sources {
		if value, ok := c.value(values, from.stat); ok {
			c.series <- from.family.Metric(value, slices.Concat(labels, from.labels)...)
		}
	}
}

// addDifference sends a series with the first statistic minus all others. It sends nothing if one of them is missing or not a number.
func (c *collection) addDifference(family *Family, values map[string]string, stats []string, labels ...string) {
	difference, ok := c.value(values, stats[0])
	for _, stat := range stats[1:] {
		value, found := c.value(values, stat)
		difference -= value
		ok = ok && found
	}
	if ok {
		c.series <- family.Metric(difference, labels...)
	}
}

func (c *collection) value(values map[string]string, stat string) (float64, bool) {
	text, found := values[stat]
	if !found {
		return 0, false
	}
	value, err := number(text)
	if err != nil {
		c.err = fmt.Errorf("%w: %s is %s", memcache.ErrMalformed, stat, quoted(text))
	}
	return value, err == nil
}

// number parses a value: a finite number, or "yes" as 1 and "no" as 0.
func number(text string) (float64, error) {
	switch text {
	case "yes":
		return 1, nil
	case "no":
		return 0, nil
	}
	value, err := strconv.ParseFloat(text, 64)
	if err == nil && (math.IsNaN(value) || math.IsInf(value, 0)) {
		err = strconv.ErrRange
	}
	return value, err
}

// printable reports whether a text is not empty, and consists of printable ASCII characters other than the space.
func printable(text string) bool {
	for _, r := range text {
		if r <= ' ' || r > '~' {
			return false
		}
	}
	return text != ""
}
