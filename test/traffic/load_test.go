// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/test/traffic"
)

const loadClients = 3

// small is a load. The number of its requests is not a multiple of loadClients.
var small = traffic.Load{Requests: 1000, Keys: 20, ValueSize: 50, Seed: 1}

func loadedBy(t *testing.T, server *fake) []*traffic.Conn {
	t.Helper()
	conns := make([]*traffic.Conn, loadClients)
	for i := range conns {
		conns[i] = connect(t, server.address)
	}
	return conns
}

func TestLoad(t *testing.T) {
	server := (&fake{}).start(t)
	conns := loadedBy(t, server)
	if err := small.Store(t.Context(), conns); err != nil || len(server.items) != small.Keys {
		t.Fatalf("%d of %d keys are stored: %v", len(server.items), small.Keys, err)
	}
	served, err := small.Run(t.Context(), conns)
	if err != nil {
		t.Fatal(err)
	}
	if served.Failed != 0 || served.Sets+served.Gets != small.Requests || len(served.Latencies) != small.Requests {
		t.Errorf("%d sets, %d gets, %d latencies, %d failed", served.Sets, served.Gets, len(served.Latencies), served.Failed)
	}
	if served.Sets < small.Requests/20 || served.Sets > small.Requests/5 {
		t.Errorf("%d of %d requests are sets", served.Sets, small.Requests)
	}
	// The latencies of one client do not overlap, so each client adds at most the time of the run.
	var total time.Duration
	for _, latency := range served.Latencies {
		total += latency
	}
	if total <= 0 || total > loadClients*served.Took {
		t.Errorf("the latencies add up to %s in %s", total, served.Took)
	}
	if got := server.sets - small.Keys; got != served.Sets {
		t.Errorf("the server had %d sets, %d were counted", got, served.Sets)
	}
}

// TestLoadOfSeveralNodes has one node for the keys with even numbers, and one for the keys with odd numbers.
func TestLoadOfSeveralNodes(t *testing.T) {
	load := small
	load.Nodes = 2
	load.Owner = func(key string) int { return int(key[len(key)-1]-'0') % 2 }
	nodes := []*fake{(&fake{}).start(t), (&fake{}).start(t)}
	var conns []*traffic.Conn
	for range loadClients {
		conns = append(conns, connect(t, nodes[0].address), connect(t, nodes[1].address))
	}
	if err := load.Store(t.Context(), conns); err != nil {
		t.Fatal(err)
	}
	served, err := load.Run(t.Context(), conns)
	if err != nil || served.Failed != 0 || len(served.Latencies) != load.Requests {
		t.Errorf("%d latencies, %d failed: %v", len(served.Latencies), served.Failed, err)
	}
	for i, node := range nodes {
		for key := range node.items {
			if load.Owner(key) != i {
				t.Errorf("node %d has %s", i, key)
			}
		}
		if len(node.items) != load.Keys/2 {
			t.Errorf("node %d has %d keys", i, len(node.items))
		}
	}
}

func TestLoadEndsAtItsLimit(t *testing.T) {
	load := small
	load.Limit = 1
	served, err := load.Run(t.Context(), loadedBy(t, (&fake{}).start(t)))
	if err != nil || len(served.Latencies) >= load.Requests || len(served.Latencies) != served.Sets+served.Gets {
		t.Errorf("%d latencies, %d sets, %d gets: %v", len(served.Latencies), served.Sets, served.Gets, err)
	}
}

// TestLoadIsRepeatable checks that the seed determines how many requests are sets.
func TestLoadIsRepeatable(t *testing.T) {
	sets := func(seed uint64) int {
		load := small
		load.Seed = seed
		served, err := load.Run(t.Context(), loadedBy(t, (&fake{}).start(t)))
		if err != nil {
			t.Fatal(err)
		}
		return served.Sets
	}
	first := sets(7)
	if again := sets(7); again != first {
		t.Errorf("%d sets, then %d", first, again)
	}
	if other := sets(9); other == first {
		t.Errorf("another seed also has %d sets", other)
	}
}

// TestLoadCountsRefusals uses a server that refuses every set.
func TestLoadCountsRefusals(t *testing.T) {
	server := &fake{refuse: func(string, int) string { return "SERVER_ERROR out of memory storing object\r\n" }}
	conns := loadedBy(t, server.start(t))
	served, err := small.Run(t.Context(), conns)
	if err != nil || served.Failed != small.Requests || len(served.Latencies) != small.Requests {
		t.Errorf("%d of %d requests failed: %v", served.Failed, small.Requests, err)
	}
	want := server.address + `: set: the reply is "SERVER_ERROR out of memory storing object"`
	if diff := cmp.Diff(want, errorText(small.Store(t.Context(), conns))); diff != "" {
		t.Errorf("storing keys (-want +got):\n%s", diff)
	}
}

func TestLoadFails(t *testing.T) {
	larger := small
	larger.ValueSize++
	for name, test := range map[string]struct {
		spoil func(server *fake, end context.CancelCauseFunc)
		want  string
	}{
		"no server":    {func(server *fake, _ context.CancelCauseFunc) { server.stop() }, ": load: "},
		"other values": {func(*fake, context.CancelCauseFunc) {}, ` 0 50"`},
		"context":      {func(_ *fake, end context.CancelCauseFunc) { end(errors.New("the test is over")) }, "the test is over"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, end := context.WithCancelCause(t.Context())
			defer end(nil)
			server := (&fake{}).start(t)
			conns := loadedBy(t, server)
			if err := small.Store(ctx, conns); err != nil {
				t.Fatal(err)
			}
			test.spoil(server, end)
			if _, err := larger.Run(ctx, conns); !strings.Contains(errorText(err), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
