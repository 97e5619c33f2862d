// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/test/traffic"
)

const (
	fewKeys   = 3000
	valueSize = 100
)

// cache is three fake servers and their client.
type cache struct {
	*traffic.Client
	ring  *traffic.Ring
	fakes map[string]*fake
}

func newCache(t *testing.T) *cache {
	t.Helper()
	c := &cache{fakes: map[string]*fake{}}
	var servers []traffic.Server
	for _, name := range []string{"cache-0", "cache-1", "cache-2"} {
		c.fakes[name] = (&fake{}).start(t)
		servers = append(servers, traffic.Server{Name: name, Address: c.fakes[name].address})
	}
	var err error
	if c.ring, err = traffic.NewRing(servers...); err != nil {
		t.Fatal(err)
	}
	c.Client = traffic.NewClient(c.ring, nil)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *cache) owned(name string) int {
	owned := 0
	for number := range fewKeys {
		if c.ring.Owner(traffic.Key(number+1)).Name == name {
			owned++
		}
	}
	return owned
}

func (c *cache) write(t *testing.T) {
	t.Helper()
	if err := c.Write(t.Context(), fewKeys, valueSize); err != nil {
		t.Fatal(err)
	}
}

func (c *cache) read(t *testing.T) traffic.Hits {
	t.Helper()
	hits, err := c.Read(t.Context(), fewKeys)
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

func TestClient(t *testing.T) {
	for name, test := range map[string]struct {
		change func(c *cache)
		want   func(c *cache) traffic.Hits
	}{
		"everything is there": {
			func(*cache) {},
			func(*cache) traffic.Hits { return traffic.Hits{Hits: fewKeys} },
		},
		"a server is empty": {
			func(c *cache) { clear(c.fakes["cache-1"].items) },
			func(c *cache) traffic.Hits { return traffic.Hits{Hits: fewKeys - c.owned("cache-1")} },
		},
		"a server is gone": {
			func(c *cache) { c.fakes["cache-1"].stop() },
			func(c *cache) traffic.Hits {
				return traffic.Hits{Hits: fewKeys - c.owned("cache-1"), Errors: c.owned("cache-1")}
			},
		},
		"values are wrong": {
			func(c *cache) {
				items := c.fakes[c.ring.Owner("key-000001").Name].items
				items["key-000001"] = item{flags: "100", value: []byte(strings.Repeat("key-000002/", 10)[:valueSize])}
				items = c.fakes[c.ring.Owner("key-000002").Name].items
				items["key-000002"] = item{flags: "100", value: items["key-000002"].value[:valueSize-1]}
			},
			func(*cache) traffic.Hits { return traffic.Hits{Hits: fewKeys - 2, Wrong: 2} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCache(t)
			c.write(t)
			test.change(c)
			want := test.want(c)
			want.Keys = fewKeys
			if diff := cmp.Diff(want, c.read(t)); diff != "" {
				t.Errorf("hits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWritePutsEachKeyAtItsOwner(t *testing.T) {
	c := newCache(t)
	c.write(t)
	for name, fake := range c.fakes {
		if len(fake.items) != c.owned(name) {
			t.Errorf("%s has %d items and owns %d keys", name, len(fake.items), c.owned(name))
		}
		if fake.most > 4 {
			t.Errorf("%s had %d connections", name, fake.most)
		}
	}
	found := c.fakes["cache-0"].items["key-000001"]
	if diff := cmp.Diff(strings.Repeat("key-000001/", 10)[:valueSize], string(found.value)); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
}

// TestWriteReportsServers checks that the error names each server that failed. One server is stopped, and one refuses
// some keys. Write must still store the other keys of the running servers.
func TestWriteReportsServers(t *testing.T) {
	c := newCache(t)
	c.fakes["cache-1"].stop()
	c.fakes["cache-2"].refuse = func(key string, _ int) string {
		if strings.HasSuffix(key, "0") {
			return "SERVER_ERROR out of memory storing object\r\n"
		}
		return ""
	}
	err := c.Write(t.Context(), fewKeys, valueSize)
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "server cache-1 at "+c.fakes["cache-1"].address+": ") ||
		!strings.HasPrefix(lines[1], "server cache-2 at ") || !strings.Contains(lines[1], "SERVER_ERROR out of memory") {
		t.Errorf("got the error %v", err)
	}
	for name, least := range map[string]int{"cache-0": c.owned("cache-0"), "cache-2": c.owned("cache-2") * 8 / 10} {
		if got := len(c.fakes[name].items); got < least {
			t.Errorf("%s has %d items, fewer than %d", name, got, least)
		}
	}
}

// TestBrokenConnections closes the connections of a server, as a restart does. Only the first request on each of
// these connections may fail.
func TestBrokenConnections(t *testing.T) {
	c := newCache(t)
	c.write(t)
	c.fakes["cache-0"].hangUp()
	if hits := c.read(t); hits.Errors > 4*100 || hits.Hits != fewKeys-hits.Errors {
		t.Errorf("got %+v", hits)
	}
	if hits := c.read(t); hits.Ratio() != 1 {
		t.Errorf("then %+v", hits)
	}
}

func TestEndedContext(t *testing.T) {
	c := newCache(t)
	c.write(t)
	cause := errors.New("the test is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	hits, err := c.Read(ctx, fewKeys)
	if !errors.Is(err, cause) {
		t.Errorf("reading: %v", err)
	}
	if diff := cmp.Diff(traffic.Hits{Keys: fewKeys, Errors: fewKeys}, hits); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
	if err := c.Write(ctx, fewKeys, valueSize); !errors.Is(err, cause) {
		t.Errorf("writing: %v", err)
	}
}

// TestUnresponsiveServer checks that an unresponsive server costs one timeout, not one for each request.
func TestUnresponsiveServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := ring(t, "unresponsive")
		c := traffic.NewClient(r, pipeTo(func(net.Conn) {}))
		c.SetTimeout(3 * time.Second)
		start := time.Now()
		hits, err := c.Read(t.Context(), fewKeys)
		if diff := cmp.Diff(traffic.Hits{Keys: fewKeys, Errors: fewKeys}, hits); diff != "" || err != nil {
			t.Errorf("hits (-want +got):\n%s\n%v", diff, err)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestRatio(t *testing.T) {
	for want, hits := range map[float64]traffic.Hits{0: {}, 0.75: {Keys: 4, Hits: 3}, 1: {Keys: 4, Hits: 4}} {
		if got := hits.Ratio(); got != want {
			t.Errorf("%+v: got %g, want %g", hits, got, want)
		}
	}
}
