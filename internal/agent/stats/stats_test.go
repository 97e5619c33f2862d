// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"bytes"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/repository"
)

func TestSeriesAreDocumented(t *testing.T) {
	page := repository.Read(t, "docs", "operations", "metrics.md")
	for _, family := range slices.Concat(Families(), ProxyFamilies()) {
		series := family.Name
		if len(family.Labels) > 0 {
			series += "{" + strings.Join(family.Labels, ",") + "}"
		}
		if !strings.Contains(page, "`"+series+"`") {
			t.Errorf("docs/operations/metrics.md does not have %s", series)
		}
	}
}

// replying returns a connection to a memcached that sends these replies, whatever the requests are.
func replying(replies string) *memcache.Conn {
	return memcache.NewConn(replier{Reader: strings.NewReader(replies)}, "")
}

type replier struct {
	net.Conn
	io.Reader
}

func (r replier) Read(to []byte) (int, error) { return r.Reader.Read(to[:1]) } // one byte, because Conn refuses bytes after a reply

func (replier) Write(request []byte) (int, error) { return len(request), nil }

func (replier) SetDeadline(time.Time) error { return nil }

func (replier) Close() error { return nil }

const empty = "END\r\n"

func TestRead(t *testing.T) {
	got, err := Read(t.Context(), replying("STAT pid 1\r\nSTAT version 1.6.45\r\nSTAT libevent 2.1.12-stable\r\n"+empty+
		"STAT maxconns 1024\r\nSTAT stat_key_prefix :\r\nSTAT memory_file (null) or not\r\nSTAT nothing\r\n"+empty+
		"STAT items:1:number 5\r\nSTAT items:63:number 0\r\n"+empty+
		"STAT 1:chunk_size 96\r\nSTAT active_slabs 1\r\nSTAT total_malloced 1048576\r\n"+empty))
	want := &Stats{
		General: map[string]string{
			"pid": "1", "version": "1.6.45", "libevent": "2.1.12-stable", "active_slabs": "1", "total_malloced": "1048576",
		},
		Settings: map[string]string{"maxconns": "1024", "stat_key_prefix": ":", "memory_file": "(null) or not", "nothing": ""},
		Items:    map[int]map[string]string{1: {"number": "5"}, 63: {"number": "0"}},
		Slabs:    map[int]map[string]string{1: {"chunk_size": "96"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

func TestReadFails(t *testing.T) {
	for replies, want := range map[string]string{
		strings.Repeat(empty, 3):                                    "stats slabs: EOF",
		empty + "ERROR\r\n":                                         `stats settings: unexpected reply: "ERROR"`,
		empty + empty + "STAT number 1\r\n" + empty + empty:         `unexpected reply: slab class "number"`,
		empty + empty + "STAT items:a:number 1\r\n" + empty + empty: `unexpected reply: slab class "a"`,
		empty + empty + empty + "STAT -1:chunk_size 1\r\n" + empty:  `unexpected reply: slab class "-1"`,
		empty + empty + empty + "STAT 256:chunk_size 1\r\n" + empty: `unexpected reply: slab class "256"`,
	} {
		if got, err := Read(t.Context(), replying(replies)); got != nil || err == nil || err.Error() != want {
			t.Errorf("%q: got %v, %v, want %s", replies, got, err, want)
		}
	}
}

func TestCollect(t *testing.T) {
	for _, test := range []struct {
		name  string
		stats Stats
		want  []string
		err   string
	}{
		{name: "nothing"},
		{name: "a version", stats: Stats{General: map[string]string{"version": "1.6.45"}}, want: []string{`memcached_version{version="1.6.45"} 1`}},
		{name: "no version for a label", stats: Stats{General: map[string]string{"version": "1.6\xff"}}},
		{name: "an empty version", stats: Stats{General: map[string]string{"version": ""}}},
		{
			name: "processor time", stats: Stats{General: map[string]string{"rusage_user": "12.000345"}},
			want: []string{"memcached_process_user_cpu_seconds_total 12.000345"},
		},
		{
			name: "cas is not counted as set",
			stats: Stats{
				General: map[string]string{"cmd_set": "10", "cas_misses": "1", "cas_hits": "2", "cas_badval": "3"},
				Slabs:   map[int]map[string]string{7: {"cmd_set": "10", "cas_hits": "2", "cas_badval": "3"}},
			},
			want: []string{
				`memcached_commands_total{command="cas",status="badval"} 3`, `memcached_commands_total{command="cas",status="hit"} 2`,
				`memcached_commands_total{command="cas",status="miss"} 1`, `memcached_commands_total{command="set",status="hit"} 4`,
				`memcached_slab_commands_total{command="cas",slab="7",status="badval"} 3`,
				`memcached_slab_commands_total{command="cas",slab="7",status="hit"} 2`,
				`memcached_slab_commands_total{command="set",slab="7",status="hit"} 5`,
			},
		},
		{name: "sets without cas", stats: Stats{General: map[string]string{"cmd_set": "10"}}},
		{
			name: "an LRU crawler that is off", stats: Stats{Settings: map[string]string{"maxconns": "99", "lru_crawler": "no", "hot_lru_pct": "20"}},
			want: []string{"memcached_max_connections 99"},
		},
		{
			name: "switches", stats: Stats{Settings: map[string]string{"lru_crawler": "yes", "lru_maintainer_thread": "no"}},
			want: []string{"memcached_lru_crawler_enabled 1", "memcached_lru_crawler_maintainer_thread 0"},
		},
		{
			name:  "values that are not numbers",
			stats: Stats{General: map[string]string{"uptime": "5", "time": "late"}, Items: map[int]map[string]string{1: {"number": "3"}}},
			want:  []string{"memcached_slab_current_items{slab=\"1\"} 3", "memcached_uptime_seconds 5"},
			err:   `unexpected reply: time is "late"`,
		},
		{name: "no number at all", stats: Stats{General: map[string]string{"bytes": "NaN"}}, err: `unexpected reply: bytes is "NaN"`},
		{name: "no finite number", stats: Stats{General: map[string]string{"bytes": "-Inf"}}, err: `unexpected reply: bytes is "-Inf"`},
		{
			name: "half of a difference", stats: Stats{Slabs: map[int]map[string]string{7: {"cmd_set": "x", "cas_hits": "0", "cas_badval": "0"}}},
			want: []string{`memcached_slab_commands_total{command="cas",slab="7",status="badval"} 0`, `memcached_slab_commands_total{command="cas",slab="7",status="hit"} 0`},
			err:  `unexpected reply: cmd_set is "x"`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := series(t, &collected{stats: &test.stats, families: Families()})
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if test.err == "" && err != nil || test.err != "" && (err == nil || err.Error() != test.err) {
				t.Errorf("got %v, want %s", err, test.err)
			}
		})
	}
}

// collected makes statistics a prometheus.Collector, so that a registry can check their series.
type collected struct {
	stats interface {
		Collect(series chan<- prometheus.Metric) error
	}
	families []*Family
	err      error
}

func (c *collected) Describe(descriptions chan<- *prometheus.Desc) {
	for _, family := range c.families {
		descriptions <- family.Description()
	}
}

func (c *collected) Collect(series chan<- prometheus.Metric) { c.err = c.stats.Collect(series) }

// series returns the series of the statistics as /metrics has them, and the error of Collect. It fails the test if the registry finds the
// series inconsistent.
func series(t *testing.T, c *collected) ([]string, error) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Errorf("the series are inconsistent: %v", err)
	}
	var text bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			t.Error(err)
		}
	}
	lines := strings.Split(text.String(), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" || line[0] == '#' }), c.err
}

// FuzzRead sends arbitrary replies to Read. The series of the result must be consistent.
func FuzzRead(f *testing.F) {
	var recorded strings.Builder
	for _, file := range []string{"stats", "settings", "items", "slabs"} {
		text, err := os.ReadFile("testdata/default/" + file + ".txt")
		if err != nil {
			f.Fatal(err)
		}
		recorded.Write(text)
	}
	f.Add(recorded.String())
	f.Add("STAT version \xff\r\nSTAT uptime 0x1p-2\r\nSTAT time 1_000\r\n" + empty + "STAT lru_crawler yes\r\n" + empty +
		"STAT items:01:number 1\r\nSTAT items:1:number 2\r\nSTAT items::\r\n" + empty + empty)
	f.Add(empty + empty + "STAT items:1:\r\nSTAT items:255:a:b c d\r\n" + empty + "STAT 1:cmd_set NaN\r\nSTAT :: \r\n" + empty)
	f.Fuzz(func(t *testing.T, replies string) {
		if stats, err := Read(t.Context(), replying(replies)); err == nil {
			_, _ = series(t, &collected{stats: stats, families: Families()})
		}
	})
}

// A statistic has no series if its name is unknown or not printable, or if its value is not a number.
func TestCollectOfAProxy(t *testing.T) {
	p := &Proxy{
		General:  map[string]string{"proxy_req_active": "1", "get_misses": "many"},
		Commands: map[string]string{"cmd_get": "5", "vm_gc_runs": "2", "cmd_\xff": "1", "user_missed_writes_2": "3", "user_found_in_copy_2": "4"},
		Backends: map[string]string{"bad_a-0.a.svc.": "2", "bad_\xff": "1", "other": "1"},
	}
	got, err := series(t, &collected{stats: p, families: ProxyFamilies()})
	want := []string{
		"memcached_proxy_active_requests 1", `memcached_proxy_backend_away{backend="a-0.a.svc"} 2`, `memcached_proxy_found_in_copy_total{copy="2"} 4`,
		`memcached_proxy_missed_writes_total{copy="2"} 3`, `memcached_proxy_requests_total{command="get"} 5`,
	}
	if diff := cmp.Diff(want, got); diff != "" || err == nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}
