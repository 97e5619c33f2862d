// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/internal/agent/stats"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// The agent's series must equal those that prometheus/memcached_exporter 0.16.0 made from the same recording. The recording is of
// Debian's memcached 1.6.45 with the operator's options.
func TestGoldenScrape(t *testing.T) {
	mustScrape(t, "default", newFake(t, recorded(t, "default")).options())
}

// A proxy has the same series about the process and its connections as a node. Instead of series about items, it has series that only
// a proxy has. In the recording, the proxy cannot reach one of its nodes.
func TestGoldenScrapeOfAProxy(t *testing.T) {
	o := newFake(t, recorded(t, "proxy")).options()
	o.Launcher = newLauncher(t, `{"routes":"sessions-%d.sessions.shop.svc 3\n","count":3,"seconds":5}`)
	mustScrape(t, "proxy", o)
}

// newLauncher starts a fake launcher that answers with this status. It returns the launcher's address.
func newLauncher(t *testing.T, status string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, status) }))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// memcached_proxy_routes_refused shows that the proxy has refused routes. Without the launcher's status, only the series about the
// routes are missing.
func TestRoutesSeries(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, test := range map[string]struct{ launcher, want string }{
		"refused": {
			newLauncher(t, `{"routes":"a","count":4,"refused":{"routes":"b","reason":"it is not ours"}}`),
			"memcached_proxy_nodes 4\nmemcached_proxy_routes_refused 1\n",
		},
		"gone": {gone.Listener.Addr().String(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := newFake(t, recorded(t, "proxy")).options()
			o.Launcher = test.launcher
			_, body := startAgent(t, o).get(t, "/metrics")
			got := linesWith(body, "memcached_proxy_nodes") + linesWith(body, "memcached_proxy_routes")
			if got != test.want || !strings.Contains(body, "\nmemcached_up 1\n") {
				t.Errorf("got %q, want %q in:\n%s", got, test.want, body)
			}
		})
	}
}

// The agent serves memcached_fill_* while the launcher answers with a status that has a fill.
func TestFillSeries(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	const copied = `"from":"twin-0.twin.shop.svc:11211","items":90,"bytes":9000,"present":7,"refused":3,"seconds":1.5`
	const series = "memcached_fill_bytes 9000\nmemcached_fill_complete %d\nmemcached_fill_items{result=\"copied\"} 90\n" +
		"memcached_fill_items{result=\"present\"} 7\nmemcached_fill_items{result=\"refused\"} 3\nmemcached_fill_seconds 1.5\n"
	for name, test := range map[string]struct{ launcher, want string }{
		"waiting": {newLauncher(t, `{"fill":{`+copied+`,"state":"Waiting"}}`), fmt.Sprintf(series, 0)},
		"copying": {newLauncher(t, `{"fill":{`+copied+`,"state":"Copying"}}`), fmt.Sprintf(series, 0)},
		"done":    {newLauncher(t, `{"fill":{`+copied+`,"state":"Done"}}`), fmt.Sprintf(series, 1)},
		"failed":  {newLauncher(t, `{"fill":{`+copied+`,"state":"Failed","reason":"connection refused"}}`), fmt.Sprintf(series, 0)},
		"no twin": {newLauncher(t, `{"hash":"abc"}`), ""},
		"gone":    {gone.Listener.Addr().String(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := newFake(t, recorded(t, "default")).options()
			o.NodeLauncher = test.launcher
			_, body := startAgent(t, o).get(t, "/metrics")
			if got := linesWith(body, "memcached_fill_"); got != test.want || !strings.Contains(body, "\nmemcached_up 1\n") {
				t.Errorf("got %q, want %q in:\n%s", got, test.want, body)
			}
		})
	}
}

func mustScrape(t *testing.T, name string, o Options) {
	t.Helper()
	status, body := startAgent(t, o).get(t, "/metrics")
	if status != http.StatusOK {
		t.Fatalf("/metrics: %d", status)
	}
	if *update {
		if err := os.WriteFile(goldenFile(name), []byte(exported(body)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(golden(t, name), exported(body)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The recordings must have a value for each family, except for the families with the label "copy".
func TestMemcachedFillsEachFamily(t *testing.T) {
	for name, families := range map[string][]*stats.Family{"default": stats.Families(), "proxy": stats.ProxyFamilies()} {
		scraped := "\n" + golden(t, name)
		for _, family := range families {
			if slices.Contains(family.Labels, "copy") { // the proxy of the recording has a single pool
				continue
			}
			if !strings.Contains(scraped, "\n"+family.Name+"{") && !strings.Contains(scraped, "\n"+family.Name+" ") {
				t.Errorf("the recording %s has no value for %s", name, family.Name)
			}
		}
	}
}

func goldenFile(name string) string { return "testdata/" + name + ".golden.txt" }

func golden(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(goldenFile(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func linesWith(text, prefix string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			lines.WriteString(line)
		}
	}
	return lines.String()
}
