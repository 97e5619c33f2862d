// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const sessions = "sessions-%d.sessions.shop.svc"

var from = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

func TestRoutes(t *testing.T) {
	const b, c = "b-%d.b.shop.svc", "c-%d.c.shop.svc"
	announced := Pool{Pattern: sessions, Count: 3, Next: &NextCount{Count: 1000, From: from}}
	for text, want := range map[string]Routes{
		sessions + " 3\n": {Pool: Pool{Pattern: sessions, Count: 3}},
		sessions + " 0\n": {Pool: Pool{Pattern: sessions}},
		sessions + " 3 next 1000 2026-11-24T10:00:00Z\n": {Pool: announced},
		"127.0.0.1%d 2\n":            {Pool: Pool{Pattern: "127.0.0.1%d", Count: 2}},
		sessions + " 3\n" + b + "\n": {Pool: Pool{Pattern: sessions, Count: 3}, Copies: []string{b}},
		sessions + " 3 next 1000 2026-11-24T10:00:00Z\n" + b + "\n" + c + "\n": {Pool: announced, Copies: []string{b, c}},
	} {
		routes, err := ParseRoutes(text)
		if diff := cmp.Diff(want, routes); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
		if got := routes.String(); got != text {
			t.Errorf("%q is %q as text", text, got)
		}
	}
}

func TestRoutesOfOthers(t *testing.T) {
	for _, text := range []string{
		"", "\n", sessions, sessions + " ", sessions + " x\n", sessions + " -1\n", sessions + " 1001\n", sessions + " 99999\n", sessions + " 3 4\n",
		sessions + " 3\n" + sessions + " 3\n", sessions + " 3\n" + sessions + "\n", sessions + " 3\nb-%d.svc\nb-%d.svc\n", sessions + " 3\n%d.b\n ",
		sessions + " 3\nb-%d.svc\nc-%d.svc\nd-%d.svc\n", sessions + " 3\nb-%d.svc 3\n", sessions + " 3\n\nb-%d.svc\n", sessions + " 3\n\n", sessions + "  3\n", sessions + " 3 next 4\n", sessions + " 3 next 4 soon\n",
		sessions + " 3 next 1001 2026-11-24T10:00:00Z\n", sessions + " 3 next 4 2026-13-24T10:00:00Z\n", sessions + " 3 next 4 2026-11-24T10:00:00Z x\n",
		"sessions.shop.svc 3\n", "%d-%d.shop.svc 3\n", "s\"..os.exit()..\"-%d 3\n", "-%d.shop.svc 3\n", "s-%d..svc 3\n", "S-%d.svc 3\n", "s-%d.svc. 3\n",
		"s-%d.svc:11211 3\n", strings.Repeat("a", 200) + "%d 3\n", "s-%d\n 3\n", "s-%d 3\r\n",
	} {
		if routes, err := ParseRoutes(text); !errors.Is(err, ErrNotOurs) {
			t.Errorf("%q: %+v, %v", text, routes, err)
		}
	}
}

func TestCounts(t *testing.T) {
	announced := Pool{Count: 3, Next: &NextCount{Count: 4, From: from}}
	for _, row := range []struct {
		pool Pool
		now  time.Time
		want int
		wait time.Duration
	}{
		{Pool{Count: 3}, from, 3, 0},
		{announced, from.Add(-time.Minute), 3, time.Minute},
		{announced, from.Add(-1), 3, 1},
		{announced, from, 4, 0},
		{announced, from.Add(time.Hour), 4, 0},
	} {
		if got, wait := row.pool.At(row.now), row.pool.Wait(row.now); got != row.want || wait != row.wait {
			t.Errorf("%+v at %s: %d nodes, %s to wait", row.pool, row.now, got, wait)
		}
	}
}
