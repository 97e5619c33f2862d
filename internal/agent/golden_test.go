// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"flag"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/internal/agent/stats"
)

var update = flag.Bool("update", false, "rewrite testdata/default.golden.txt")

const goldenFile = "testdata/default.golden.txt"

// prometheus/memcached_exporter 0.16.0 wrote the golden file from the same recording: that of a memcached 1.6.45, as Debian builds
// it, with the options of the operator.
func TestGoldenScrape(t *testing.T) {
	status, body := startAgent(t, newFake(t, recorded(t, "default")).options()).get(t, "/metrics")
	if status != http.StatusOK {
		t.Fatalf("/metrics: %d", status)
	}
	if *update {
		if err := os.WriteFile(goldenFile, []byte(exported(body)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(golden(t), exported(body)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Each family has series: memcached 1.6.45 has a value for it.
func TestMemcachedFillsEachFamily(t *testing.T) {
	scraped := golden(t)
	for _, family := range stats.Families() {
		if !strings.Contains(scraped, "\n"+family.Name+"{") && !strings.Contains(scraped, "\n"+family.Name+" ") {
			t.Errorf("the recording has no value for %s", family.Name)
		}
	}
}

func golden(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A PodMonitor leaves the series of slab classes out by the parameter.
func TestSelectedCollectors(t *testing.T) {
	a := startAgent(t, newFake(t, recorded(t, "default")).options())
	for query, want := range map[string]map[string]bool{
		"":                                     {"memcached_up": true, "memcached_slab_current_chunks{": true, "memcached_agent_build_info{": true, "go_goroutines": true},
		"?collect[]=memcached":                 {"memcached_up": true, "memcached_slab_": false, "memcached_agent_": false, "go_": false},
		"?collect[]=slabs":                     {"memcached_up": false, "memcached_slab_current_chunks{": true, "memcached_agent_": false, "go_": false},
		"?collect[]=memcached&collect[]=agent": {"memcached_up": true, "memcached_slab_": false, "memcached_agent_build_info{": true, "go_goroutines": true},
	} {
		status, body := a.get(t, "/metrics"+query)
		for series, shown := range want {
			if got := strings.Contains(body, "\n"+series); got != shown || status != http.StatusOK {
				t.Errorf("%s: %d, %s is shown: %t", query, status, series, got)
			}
		}
	}
	if status, body := a.get(t, "/metrics?collect[]=cpu"); status != http.StatusBadRequest || !strings.Contains(body, `memcached, slabs or agent, not "cpu"`) {
		t.Errorf("%d %s", status, body)
	}
}
