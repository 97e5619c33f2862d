// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// RoutesKey is the key of a proxy's ConfigMap whose value is the text of its Routes.
const RoutesKey = "routes"

// MaxNodes is the largest number of nodes in a pool.
const MaxNodes = 1000

// ordinal is the placeholder for the number of a node in a pattern.
const ordinal = "%d"

// MaxPools is the largest number of pools in Routes.
const MaxPools = 3

// Routes are the pools to which a proxy sends requests. Nodes with the same number in different pools hold the same items.
type Routes struct {
	Pool Pool
	// Copies are the patterns of the other pools. Each of them has as many nodes as Pool.
	Copies []string
}

// Pool is a group of nodes among which a proxy divides the keys. A single pool uses libmemcached's hash ring. Several pools use the
// jump hash of memcached's proxy. If two proxies divided the keys differently, some nodes would keep old values. So a new number of
// nodes is announced first, and all proxies change to it at the same time.
type Pool struct {
	// Pattern is the name by which clients reach each node directly, with %d in place of the node's number.
	Pattern string
	// Count is the current number of nodes.
	Count int
	// Next is the announced number of nodes, or nil. From its time on, it replaces Count.
	Next *NextCount
}

// NextCount is a number of nodes with the time at which it takes effect.
type NextCount struct {
	Count int
	From  time.Time
}

// maxPattern is the longest pattern. It leaves room for a number and the cluster's domain, because a DNS name has at most 253
// characters.
const maxPattern = 190

var (
	pool = regexp.MustCompile(`^(\S+) (\d{1,4})(?: next (\d{1,4}) ([0-9TZ:-]{20}))?$`)
	host = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

// ParseRoutes parses the text of Routes. It refuses a text that the operator would never write.
func ParseRoutes(text string) (Routes, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	parts := pool.FindStringSubmatch(lines[0])
	if parts == nil || len(lines) > MaxPools {
		return Routes{}, fmt.Errorf("%w: routes %q", ErrNotOurs, Shorten(text))
	}
	parsed := Routes{Pool: Pool{Pattern: parts[1]}}
	if len(lines) > 1 {
		parsed.Copies = lines[1:]
	}
	var countErr, nextErr error
	parsed.Pool.Count, countErr = parseCount(parts[2])
	if parts[3] != "" {
		parsed.Pool.Next, nextErr = parseNext(parts[3], parts[4])
	}
	if err := errors.Join(checkPatterns(parsed.Patterns()), countErr, nextErr); err != nil {
		return Routes{}, err
	}
	return parsed, nil
}

// Patterns returns the patterns of all pools.
func (r Routes) Patterns() []string { return append([]string{r.Pool.Pattern}, r.Copies...) }

// Names returns the names of the first count nodes of each pool.
func (r Routes) Names(count int) []string {
	var names []string
	for _, pattern := range r.Patterns() {
		for i := range count {
			names = append(names, nameOf(pattern, i))
		}
	}
	return names
}

// Sources returns the names of the nodes with this number in the other copies of a cache. The patterns are separated by commas.
func Sources(patterns string, number int) ([]string, error) {
	sources := strings.Split(patterns, ",")
	if len(sources) >= MaxPools {
		return nil, fmt.Errorf("%w: %d other copies", ErrNotOurs, len(sources))
	}
	err := checkPatterns(sources)
	for i, pattern := range sources {
		sources[i] = nameOf(pattern, number)
	}
	return sources, err
}

func nameOf(pattern string, number int) string {
	return strings.Replace(pattern, ordinal, strconv.Itoa(number), 1)
}

// checkPatterns returns what is wrong with the patterns of the pools. No two patterns may be equal.
func checkPatterns(patterns []string) error {
	var errs []error
	for i, pattern := range patterns {
		errs = append(errs, checkPattern(pattern))
		if slices.Contains(patterns[:i], pattern) {
			errs = append(errs, fmt.Errorf("%w: pattern %q twice", ErrNotOurs, Shorten(pattern)))
		}
	}
	return errors.Join(errs...)
}

func checkPattern(pattern string) error {
	if strings.Count(pattern, ordinal) != 1 || len(pattern) > maxPattern || !host.MatchString(nameOf(pattern, 0)) {
		return fmt.Errorf("%w: pattern %q, which must be the name of a host with %s once", ErrNotOurs, Shorten(pattern), ordinal)
	}
	return nil
}

func parseCount(text string) (int, error) {
	count, err := strconv.Atoi(text)
	if err != nil || count > MaxNodes {
		return 0, fmt.Errorf("%w: %s nodes, of which there are at most %d", ErrNotOurs, text, MaxNodes)
	}
	return count, nil
}

func parseNext(count, from string) (*NextCount, error) {
	var next NextCount
	var err, fromErr error
	next.Count, err = parseCount(count)
	if next.From, fromErr = time.Parse(time.RFC3339, from); fromErr != nil {
		fromErr = fmt.Errorf("%w: time %q", ErrNotOurs, from)
	}
	return &next, errors.Join(err, fromErr)
}

// String returns the text of the routes.
func (r Routes) String() string {
	text := r.Pool.Pattern + " " + strconv.Itoa(r.Pool.Count)
	if next := r.Pool.Next; next != nil {
		text += " next " + strconv.Itoa(next.Count) + " " + next.From.UTC().Format(time.RFC3339)
	}
	return strings.Join(append([]string{text}, r.Copies...), "\n") + "\n"
}

// At returns the number of nodes in effect at the time now.
func (p Pool) At(now time.Time) int {
	if p.Next != nil && !now.Before(p.Next.From) {
		return p.Next.Count
	}
	return p.Count
}

// Wait returns the time until the announced number of nodes takes effect, or 0 if no number is announced or it is in effect already.
func (p Pool) Wait(now time.Time) time.Duration {
	if p.Next == nil {
		return 0
	}
	return max(p.Next.From.Sub(now), 0)
}

// ProxyStatus is what the parent of a proxy reports.
type ProxyStatus struct {
	// Routes is the text of the accepted Routes, including an announced number of nodes.
	Routes string `json:"routes"`
	// Count is the number of nodes in each pool. Seconds is how long this number has been in effect.
	Count   int     `json:"count"`
	Seconds float64 `json:"seconds"`
	// Reloading reports that memcached may not have read the accepted routes yet.
	Reloading bool `json:"reloading,omitempty"`
	// BufferRestarts is how often the parent has restarted memcached because a client did not read its answers.
	BufferRestarts int `json:"bufferRestarts,omitempty"`
	// Missed says how many nodes the proxy cannot use, the first ones, and why. It is empty if there are none.
	Missed string `json:"missed,omitempty"`
	// Refused is the last text that the parent or memcached did not accept, or nil if a later text was accepted.
	Refused *RefusedRoutes `json:"refused,omitempty"`
}

// RefusedRoutes are routes that did not come into effect. Routes is the beginning of their text.
type RefusedRoutes struct {
	Routes string `json:"routes"`
	Reason string `json:"reason"`
}
