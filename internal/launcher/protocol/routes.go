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

// RoutesKey is the key of a proxy's ConfigMap that holds the text of its Routes.
const RoutesKey = "routes"

// MaxNodes is how many nodes a pool can have.
const MaxNodes = 1000

// ordinal stands for the number of a node in the pattern of a Pool.
const ordinal = "%d"

// MaxPools is how many pools routes can have.
const MaxPools = 3

// Routes are the nodes to which a proxy leads its clients: one pool, or pools that are copies of each other.
type Routes struct {
	Pool Pool
	// Copies are the patterns of the other pools. Each has as many nodes as Pool, and node i of one holds the keys of node i of the others.
	Copies []string
}

// Pool is a cache whose nodes share the keys: by the ring of libmemcached, or if there are copies of it, by the jump hash of memcached's
// proxy. Proxies that divide the keys differently leave old values behind, so a new number of nodes is announced before it holds, and all
// proxies change at the same time.
type Pool struct {
	// Pattern is the name of each node, as clients have it that connect to the nodes directly, with %d in the place of its ordinal.
	Pattern string
	// Count is how many nodes there are.
	Count int
	// Next is the number that follows, nil if none is announced. It holds for ever once its time has come.
	Next *NextCount
}

// NextCount is how many nodes there are from a time on.
type NextCount struct {
	Count int
	From  time.Time
}

// maxPattern leaves room for the ordinal and for the domain of the cluster: a name in DNS has at most 253 characters.
const maxPattern = 190

var (
	pool = regexp.MustCompile(`^(\S+) (\d{1,4})(?: next (\d{1,4}) ([0-9TZ:-]{20}))?$`)
	host = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

// ParseRoutes reads the text of routes.
func ParseRoutes(text string) (Routes, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	parts := pool.FindStringSubmatch(lines[0])
	if parts == nil || len(lines) > MaxPools {
		return Routes{}, fmt.Errorf("%w: routes %q", ErrNotOurs, shorten(text))
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

// Patterns are those of all pools.
func (r Routes) Patterns() []string { return append([]string{r.Pool.Pattern}, r.Copies...) }

// Names are those of the first nodes of each pool.
func (r Routes) Names(count int) []string {
	var names []string
	for _, pattern := range r.Patterns() {
		for i := range count {
			names = append(names, strings.Replace(pattern, ordinal, strconv.Itoa(i), 1))
		}
	}
	return names
}

// checkPatterns returns what is wrong with the patterns of the pools. A node that is its own twin would be no copy.
func checkPatterns(patterns []string) error {
	var errs []error
	for i, pattern := range patterns {
		errs = append(errs, checkPattern(pattern))
		if slices.Contains(patterns[:i], pattern) {
			errs = append(errs, fmt.Errorf("%w: pattern %q twice", ErrNotOurs, shorten(pattern)))
		}
	}
	return errors.Join(errs...)
}

func checkPattern(pattern string) error {
	if strings.Count(pattern, ordinal) != 1 || len(pattern) > maxPattern || !host.MatchString(strings.Replace(pattern, ordinal, "0", 1)) {
		return fmt.Errorf("%w: pattern %q, which must be the name of a host with %s once", ErrNotOurs, shorten(pattern), ordinal)
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

// At is how many nodes the pool has at a time.
func (p Pool) At(now time.Time) int {
	if p.Next != nil && !now.Before(p.Next.From) {
		return p.Next.Count
	}
	return p.Count
}

// Wait is how long it takes until the announced number of nodes holds, 0 if there is none.
func (p Pool) Wait(now time.Time) time.Duration {
	if p.Next == nil {
		return 0
	}
	return max(p.Next.From.Sub(now), 0)
}

// ProxyStatus is what the launcher of a proxy answers. It contains nothing that is secret.
type ProxyStatus struct {
	// Routes is the text that the launcher has accepted, the announced number of nodes included.
	Routes string `json:"routes"`
	// Count is how many nodes share the keys at present, and Seconds is since when.
	Count   int     `json:"count"`
	Seconds float64 `json:"seconds"`
	// Reloading reports that memcached has not confirmed another Count yet.
	Reloading bool `json:"reloading,omitempty"`
	// Refused is the last text that was not accepted, and why, until another one is.
	Refused *RefusedRoutes `json:"refused,omitempty"`
}

// RefusedRoutes are routes that are not in effect.
type RefusedRoutes struct {
	Routes string `json:"routes"`
	Reason string `json:"reason"`
}

// Shorten limits what is repeated of a text that somebody else has written.
func Shorten(text string) string { return shorten(text) }
