// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/example/memcached-operator/test/repository"
)

// exporterFile lists the series of the exporter, taken from its source.
const exporterFile = "testdata/memcached_exporter-0.16.0.txt"

func TestSeriesAreThoseOfTheExporter(t *testing.T) {
	text, err := os.ReadFile(exporterFile)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			want = append(want, strings.TrimSpace(line))
		}
	}
	var got []string
	for _, family := range Families() {
		got = append(got, strings.Join([]string{family.Name, kindOf(family), labelsOf(family, "-"), family.Help}, "\t"))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-exporter +agent:\n%s", diff)
	}
}

// The page lists what is served, in the same order.
func TestSeriesAreDocumented(t *testing.T) {
	page := repository.Read(t, "docs", "operations", "metrics.md")
	var got []string
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "| `memcached_") && !strings.HasPrefix(line, "| `memcached_agent_") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	var want []string
	for _, family := range Families() {
		want = append(want, fmt.Sprintf("| %#q | %s | %s | %s |", family.Name, kindOf(family), labelsOf(family, ""), family.Help))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-served +documented:\n%s", diff)
	}
}

func kindOf(family *Family) string {
	if family.Counter {
		return "counter"
	}
	return "gauge"
}

func labelsOf(family *Family, none string) string {
	if len(family.Labels) == 0 {
		return none
	}
	return strings.Join(family.Labels, ",")
}

func TestReadVersion(t *testing.T) {
	for reply, want := range map[string]error{
		"VERSION 1.6.45\r\n":                  nil,
		"VERSION 2.0-beta+dfsg\n":             nil,
		"CLIENT_ERROR unauthenticated\r\n":    nil,
		"ERROR\r\n":                           nil,
		"ERROR Too many open connections\r\n": ErrConnectionLimit,
		"ERROR unknown\r\n":                   ErrMalformed,
		"VERSION\r\n":                         ErrMalformed,
		"SERVER_ERROR out of memory\r\n":      ErrMalformed,
		"CLIENT_ERROR bad command line\r\n":   ErrMalformed,
		"\r\n":                                ErrMalformed,
		strings.Repeat("x", maxLine) + "\r\n": ErrMalformed,
		"VERSION 1.6.45":                      io.EOF,
		"":                                    io.EOF,
	} {
		if err := ReadVersion(NewReader(strings.NewReader(reply))); !errors.Is(err, want) {
			t.Errorf("%.40q: got %v, want %v", reply, err, want)
		}
	}
}

const empty = "END\r\n"

func TestRead(t *testing.T) {
	got, err := Read(NewReader(strings.NewReader("STAT pid 1\r\nSTAT version 1.6.45\r\nSTAT libevent 2.1.12-stable\r\n" + empty +
		"STAT maxconns 1024\r\nSTAT stat_key_prefix :\r\nSTAT memory_file (null) or not\r\nSTAT nothing\r\n" + empty +
		"STAT items:1:number 5\r\nSTAT items:63:number 0\r\n" + empty +
		"STAT 1:chunk_size 96\r\nSTAT active_slabs 1\r\nSTAT total_malloced 1048576\r\n" + empty)))
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
	longest := "STAT x " + strings.Repeat("y", maxLine-9) + "\r\n"
	for _, test := range []struct {
		name, replies string
		want          error
		message       string
	}{
		{name: "nothing", replies: "", want: io.EOF},
		{name: "a part of a line", replies: "STAT pid", want: io.EOF},
		{name: "a part of a reply", replies: "STAT pid 1\r\n", want: io.EOF},
		{name: "three replies", replies: strings.Repeat(empty, 3), want: io.EOF},
		{name: "no authentication", replies: "CLIENT_ERROR unauthenticated\r\n", want: ErrUnauthenticated},
		{name: "no connection", replies: "ERROR Too many open connections\r\n", want: ErrConnectionLimit},
		{name: "an error later", replies: empty + "ERROR\r\n", want: ErrMalformed, message: `unexpected reply: "ERROR"`},
		{name: "no statistics", replies: "VALUE a 0 1\r\n", want: ErrMalformed, message: `unexpected reply: "VALUE a 0 1"`},
		{name: "a long refusal", replies: strings.Repeat("x", 50) + "\r\n", want: ErrMalformed, message: `unexpected reply: "` + strings.Repeat("x", maxQuoted) + `"`},
		{name: "a line that is too long", replies: "STAT x" + longest, want: ErrMalformed, message: "unexpected reply: a line of more than 4096 bytes"},
		{name: "too many lines", replies: strings.Repeat(longest, maxReplies/maxLine+1), want: ErrMalformed, message: "unexpected reply: more than 262144 bytes"},
		{name: "items of no class", replies: empty + empty + "STAT number 1\r\n", want: ErrMalformed, message: `unexpected reply: "number" in stats items`},
		{name: "items of another class", replies: empty + empty + "STAT items:a:number 1\r\n", want: ErrMalformed, message: `unexpected reply: slab class "a"`},
		{name: "a class below 0", replies: empty + empty + empty + "STAT -1:chunk_size 1\r\n", want: ErrMalformed, message: `unexpected reply: slab class "-1"`},
		{name: "a class above all", replies: empty + empty + empty + "STAT 256:chunk_size 1\r\n", want: ErrMalformed, message: `unexpected reply: slab class "256"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Read(NewReader(strings.NewReader(test.replies)))
			if got != nil || !errors.Is(err, test.want) || test.message != "" && err.Error() != test.message {
				t.Errorf("got %v, %v, want %v %s", got, err, test.want, test.message)
			}
		})
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
		{name: "no proxy", stats: Stats{General: map[string]string{"round_robin_fallback": "0", "unexpected_napi_ids": "0"}}},
		{name: "no extstore", stats: Stats{General: map[string]string{"extstore_io_queue": "0"}}},
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
			got, err := series(t, &test.stats)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if test.err == "" && err != nil || test.err != "" && (err == nil || err.Error() != test.err) {
				t.Errorf("got %v, want %s", err, test.err)
			}
		})
	}
}

// collected lets a registry check the series.
type collected struct {
	stats *Stats
	err   error
}

func (*collected) Describe(descriptions chan<- *prometheus.Desc) {
	for _, family := range Families() {
		descriptions <- family.Description()
	}
}

func (c *collected) Collect(series chan<- prometheus.Metric) { c.err = c.stats.Collect(series) }

// series returns the series of the statistics, sorted, and their error. They must be consistent.
func series(t *testing.T, stats *Stats) ([]string, error) {
	t.Helper()
	c := &collected{stats: stats}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Errorf("the series are inconsistent: %v", err)
	}
	var all []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			all = append(all, family.GetName()+labelText(metric)+fmt.Sprintf(" %v", metric.GetGauge().GetValue()+metric.GetCounter().GetValue()))
		}
	}
	slices.Sort(all)
	return all, c.err
}

func labelText(metric *dto.Metric) string {
	var labels []string
	for _, label := range metric.GetLabel() {
		labels = append(labels, fmt.Sprintf("%s=%q", label.GetName(), label.GetValue()))
	}
	if len(labels) == 0 {
		return ""
	}
	return "{" + strings.Join(labels, ",") + "}"
}

// FuzzRead reads anything as replies. What is read must be within the limits, and its series consistent.
func FuzzRead(f *testing.F) {
	for _, folder := range []string{"default", "extstore", "proxy"} {
		var replies strings.Builder
		for _, file := range []string{"stats", "settings", "items", "slabs"} {
			text, err := os.ReadFile("testdata/" + folder + "/" + file + ".txt")
			if err != nil {
				f.Fatal(err)
			}
			replies.Write(text)
		}
		f.Add(replies.String())
	}
	f.Add("STAT version \xff\r\nSTAT uptime 0x1p-2\r\nSTAT time 1_000\r\n" + empty + "STAT lru_crawler yes\r\n" + empty +
		"STAT items:01:number 1\r\nSTAT items:1:number 2\r\nSTAT items::\r\n" + empty + empty)
	f.Add(empty + empty + "STAT items:1:\r\nSTAT items:255:a:b c d\r\n" + empty + "STAT 1:cmd_set NaN\r\nSTAT :: \r\n" + empty)
	f.Fuzz(func(t *testing.T, replies string) {
		rest := strings.NewReader(replies)
		stats, err := Read(NewReader(rest))
		if read := len(replies) - rest.Len(); read > maxReplies+2*maxLine {
			t.Errorf("%d bytes were read", read)
		}
		if err == nil {
			_, _ = series(t, stats)
		}
	})
}
