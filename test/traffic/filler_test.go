// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/test/traffic"
)

const connections = 50

func newFake() *fake { return &fake{memory: 1 << 20, itemMax: 64 << 10, maxConns: connections} }

func TestFill(t *testing.T) {
	server := newFake()
	used := map[int]bool{}
	server.refuse = func(_ string, size int) string {
		used[size] = true
		// Workers send values of 1000 bytes in two parts, after they have used each connection.
		if size == 1000 {
			for _, requests := range server.conns {
				if requests == 0 {
					return "SERVER_ERROR a connection was not used before\r\n"
				}
			}
		}
		return ""
	}
	server.start(t)
	report, err := traffic.Filler{Address: server.address, Connections: connections, Factor: 3}.Fill(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := traffic.Report{
		Memory: 1 << 20, Connections: connections, Sets: server.sets, Bytes: report.Bytes,
		Gets: 16 * connections, Hits: report.Hits, Evictions: int64(server.evictions),
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if report.Bytes < 3<<20 || report.Bytes > 4<<20 || report.Evictions == 0 || report.Hits == 0 || report.Hits == report.Gets {
		t.Errorf("the report is %+v", report)
	}
	if server.most != connections {
		t.Errorf("%d connections were open at the same time", server.most)
	}
	if len(used) < 80 || server.largest < server.itemMax-100 || server.largest > server.itemMax-48 {
		t.Errorf("values have %d sizes up to %d bytes", len(used), server.largest)
	}
}

// TestFillIsRepeatable checks that the seed determines the items.
func TestFillIsRepeatable(t *testing.T) {
	fill := func(seed uint64) (contents uint32, bytes int64) {
		server := newFake().start(t)
		report, err := traffic.Filler{Address: server.address, Connections: 3, Factor: 1, Seed: seed}.Fill(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return server.contents, report.Bytes
	}
	first, bytes := fill(7)
	if again, same := fill(7); again != first || same != bytes {
		t.Errorf("the same seed gives %d bytes, then %d", bytes, same)
	}
	if other, _ := fill(8); other == first {
		t.Error("another seed gives the same items")
	}
}

func TestFillCountsWhatHasNoMemory(t *testing.T) {
	server := newFake()
	server.refuse = func(_ string, size int) string {
		if size > 60<<10 {
			return "SERVER_ERROR out of memory storing object\r\n"
		}
		return ""
	}
	server.start(t)
	report, err := traffic.Filler{Address: server.address, Connections: 1, Factor: 1.2}.Fill(t.Context())
	if err != nil || report.Refused == 0 || report.Sets != server.sets || report.Connections != 1 {
		t.Errorf("got %+v, %v", report, err)
	}
}

func TestFillFails(t *testing.T) {
	stopped := newFake().start(t)
	stopped.stop()
	strict := newFake()
	strict.refuse = func(string, int) string { return "SERVER_ERROR object too large for cache\r\n" }
	for name, test := range map[string]struct {
		ended  bool
		server *fake
		filler traffic.Filler
		err    string
	}{
		"no connections":      {false, newFake().start(t), traffic.Filler{Factor: 1}, "requires connections and a factor"},
		"no factor":           {false, newFake().start(t), traffic.Filler{Connections: 1}, "requires connections and a factor"},
		"too many":            {false, newFake().start(t), traffic.Filler{Connections: connections + 1, Factor: 1}, `is "ERROR Too many open`},
		"no server":           {false, stopped, traffic.Filler{Connections: 1, Factor: 1}, "connection 1 of 1: "},
		"context":             {true, newFake().start(t), traffic.Filler{Connections: 1, Factor: 1}, "the test is over"},
		"what is not allowed": {false, strict.start(t), traffic.Filler{Connections: 1, Factor: 1}, `: ms: the reply is "SERVER_ERROR object`},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if test.ended {
				cancel(errors.New("the test is over"))
			}
			test.filler.Address = test.server.address
			_, err := test.filler.Fill(ctx)
			if !strings.Contains(errorText(err), test.err) || !strings.Contains(errorText(err), test.server.address) {
				t.Errorf("got %v, want %q", err, test.err)
			}
		})
	}
}
