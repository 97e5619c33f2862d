// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"errors"
	"net"
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
		open, _, accepted := f.counts()
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
	mustBeReadable(t, c)
	mustCount(t, f, 1, 2)
	c.close()
	mustCount(t, f, 0, 2)
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
}

func TestAClockThatIsSetBackMakesNoAnswerLast(t *testing.T) {
	t.Parallel()
	f := newFake(t, recorded(t, "default"))
	c, clock := newTestClient(t, f)
	mustAnswer(t, c)
	f.behave(hangs)
	clock.pass(-time.Hour)
	if err := c.probe(); !errors.Is(err, errTimeout) {
		t.Errorf("got %v", err)
	}
}

// When clients have used up all connections, the agent can still reach memcached over the connection that it holds.
func TestMemcachedAtItsConnectionLimitIsReadyAndReadable(t *testing.T) {
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

	f.behave(recorded(t, "default"))
	clock.pass(time.Minute)
	mustAnswer(t, c)
	mustCount(t, f, 1, 5)
}

func TestAnAgentWithoutAConnectionAtTheLimitIsReadyAndTriesAgain(t *testing.T) {
	f := newFake(t, recorded(t, "default"))
	c, clock := newTestClient(t, f)
	mustAnswer(t, c)
	f.behave(refuses)
	f.hangUp() // as memcached does after its idle timeout
	mustCount(t, f, 0, 1)

	clock.pass(time.Minute)
	mustAnswer(t, c)
	if _, err := c.stats(); !errors.Is(err, memcache.ErrConnectionLimit) {
		t.Errorf("got %v", err)
	}
	clock.pass(time.Minute)
	mustAnswer(t, c)

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

// If memcached has closed the idle connection, the scrape opens a new connection.
func TestAClosedConnectionIsReplacedWithinTheScrape(t *testing.T) {
	f := newFake(t, recorded(t, "default"))
	c, _ := newTestClient(t, f)
	mustBeReadable(t, c)
	f.hangUp()
	mustCount(t, f, 0, 1)
	mustBeReadable(t, c)
	mustCount(t, f, 1, 2)
}
