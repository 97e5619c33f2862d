// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/agent/stats"
	"github.com/example/memcached-operator/internal/memcache"
)

// testClock is a clock that only the test moves. It starts long after the zero time, like a real clock.
type testClock struct{ time time.Time }

func newTestClock() *testClock { return &testClock{time: time.Unix(1_800_000_000, 0)} }

func (c *testClock) now() time.Time { return c.time }

func (c *testClock) pass(d time.Duration) { c.time = c.time.Add(d) }

func newTestClient(t *testing.T, f *fake) (*client, *testClock) {
	t.Helper()
	clock := newTestClock()
	c := newClient(f.options())
	c.now = clock.now
	t.Cleanup(c.close)
	return c, clock
}

func mustAnswer(t *testing.T, c *client) {
	t.Helper()
	if err := c.probe(); err != nil {
		t.Errorf("probe: %v", err)
	}
}

func mustBeReadable(t *testing.T, c *client) {
	t.Helper()
	read, err := c.stats()
	if err != nil {
		t.Errorf("stats: %v", err)
	} else if version := read.(*stats.Stats).General["version"]; version != "1.6.45" {
		t.Errorf("the version is %q", version)
	}
}

func mustCount(t *testing.T, f *fake, wantOpen, wantAccepted int) {
	t.Helper()
	eventually(t, "connections", func() bool {
		open, accepted := f.counts()
		if accepted > wantAccepted {
			t.Fatalf("%d connections were accepted, want %d", accepted, wantAccepted)
		}
		return open == wantOpen && accepted == wantAccepted
	})
}

func TestEachProbeConnectsAndLeavesItsConnectionToScrapes(t *testing.T) {
	f := newFake(t, recorded(t, "default"))
	c, clock := newTestClient(t, f)
	mustAnswer(t, c)
	mustCount(t, f, 1, 1)
	mustBeReadable(t, c)
	mustBeReadable(t, c)
	mustCount(t, f, 1, 1)
	clock.pass(answerLifetime)
	mustAnswer(t, c)
	mustCount(t, f, 1, 2)
	f.hangUp() // as memcached does with idle connections; the scrape opens a new one
	mustCount(t, f, 0, 2)
	mustBeReadable(t, c)
	mustCount(t, f, 1, 3)
	c.close()
	mustCount(t, f, 0, 3)
}

func TestProbesOfTheSameSecondShareAnAnswerButNoFailure(t *testing.T) {
	t.Parallel()
	f := newFake(t, hangs)
	c, clock := newTestClient(t, f)
	if err := c.probe(); !errors.Is(err, errTimeout) {
		t.Errorf("got %v", err)
	}
	f.behave(recorded(t, "default"))
	mustAnswer(t, c) // the failure is not reused
	mustCount(t, f, 1, 2)
	clock.pass(answerLifetime - 1)
	mustAnswer(t, c)
	mustCount(t, f, 1, 2)
	clock.pass(1)
	mustAnswer(t, c)
	mustCount(t, f, 1, 3)
	f.behave(hangs)
	clock.pass(-time.Hour) // a clock that is set back makes no answer last
	if err := c.probe(); !errors.Is(err, errTimeout) {
		t.Errorf("got %v", err)
	}
}

// When clients have used up all connections, the agent can still reach memcached over the connection that it holds. Without one, it is
// ready, and tries again.
func TestMemcachedAtItsConnectionLimitIsReady(t *testing.T) {
	f := newFake(t, recorded(t, "default"))
	c, clock := newTestClient(t, f)
	mustAnswer(t, c)
	f.behave(refuses)
	for range 3 {
		clock.pass(time.Minute)
		mustAnswer(t, c)
		mustBeReadable(t, c)
	}
	mustCount(t, f, 1, 4)
	f.hangUp()
	mustCount(t, f, 0, 4)
	for range 2 {
		clock.pass(time.Minute)
		mustAnswer(t, c)
		if _, err := c.stats(); !errors.Is(err, memcache.ErrConnectionLimit) {
			t.Errorf("got %v", err)
		}
	}
	for after, want := range map[time.Duration]bool{0: true, fullFor - time.Second: true, fullFor + time.Second: false} {
		if got := c.wasFull(clock.now().Add(after)); got != want {
			t.Errorf("after %s, it is told that no connection was left: %t", after, got)
		}
	}
	f.behave(recorded(t, "default"))
	mustBeReadable(t, c)
}

// A hung memcached still accepts connections, but the threads that answer requests do not work.
func TestAHungMemcachedAtItsConnectionLimitIsNotReady(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	f := newFake(t, func(conn net.Conn) {
		answeredOnce := false
		answering(func(string) string {
			if answeredOnce {
				close(asked)
				return ""
			}
			answeredOnce = true
			return versionReply
		})(conn)
	})
	c, clock := newTestClient(t, f)
	mustAnswer(t, c)
	f.behave(refuses)
	clock.pass(time.Minute)
	if err := c.probe(); !errors.Is(err, errTimeout) {
		t.Fatalf("got %v", err)
	}
	<-asked
	mustCount(t, f, 0, 2)
}

func TestOnlyTransitionsAreLoggedAndSeldom(t *testing.T) {
	failure := errors.New("no answer within 1s")
	for _, test := range []struct {
		name string
		// observations are one second apart.
		observations []error
		want         []string
	}{
		{name: "the first success", observations: []error{nil, nil, nil}, want: []string{"answers at 0"}},
		{name: "a start that takes some seconds", observations: []error{failure, failure, nil, nil}, want: []string{"answers at 2"}},
		{name: "a start that never ends", observations: slices.Repeat([]error{failure}, 60), want: []string{"does not answer at 10: no answer within 1s"}},
		{
			name:         "an outage",
			observations: slices.Concat(slices.Repeat([]error{nil}, 20), slices.Repeat([]error{failure}, 20), slices.Repeat([]error{nil}, 20)),
			want:         []string{"answers at 0", "does not answer at 20: no answer within 1s", "answers at 40"},
		},
		{
			name:         "flapping that ends well",
			observations: slices.Concat([]error{nil}, slices.Repeat([]error{failure, nil}, 20), slices.Repeat([]error{nil}, 20)),
			want:         []string{"answers at 0", "does not answer at 11: no answer within 1s", "answers at 22", "does not answer at 33: no answer within 1s", "answers at 43"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			clock := newTestClock()
			transitions := newTransitions(slog.New(slog.NewJSONHandler(&log, nil)), clock.now, "does not answer", "answers")
			var got []string
			for second, err := range test.observations {
				transitions.observe(err)
				for line := range strings.Lines(log.String()) {
					var entry struct{ Msg, Reason string }
					must(t, json.Unmarshal([]byte(line), &entry))
					got = append(got, strings.TrimSuffix(fmt.Sprintf("%s at %d: %s", entry.Msg, second, entry.Reason), ": "))
				}
				log.Reset()
				clock.pass(time.Second)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
