// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// The agent's series must equal those that prometheus/memcached_exporter 0.16.0 made from the same recording, which is of Debian's
// memcached 1.6.45 with the operator's options. A proxy has the same series about the process and its connections as a node. Instead of
// series about items, it has series that only a proxy has. In the recording, the proxy cannot reach one of its nodes.
func TestGoldenScrape(t *testing.T) {
	for name, parent := range map[string]string{
		"default": "", "proxy": newParent(t, `{"proxy":{"routes":"sessions-%d.sessions.shop.svc 3\n","count":3,"seconds":5}}`),
	} {
		o := newFake(t, recorded(t, name)).options()
		o.Parent, o.Proxy = parent, name == "proxy"
		status, body := startAgent(t, o).get(t, "/metrics")
		if status != http.StatusOK {
			t.Fatalf("/metrics: %d", status)
		}
		file := "testdata/" + name + ".golden.txt"
		if *update {
			if err := os.WriteFile(file, []byte(exported(body)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if diff := cmp.Diff(string(want), exported(body)); diff != "" || err != nil {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
	}
}

// newParent starts a fake parent that answers with this status. It returns the parent's address.
func newParent(t *testing.T, status string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, status) }))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// The agent serves memcached_fill_* while the parent of a node answers with a status that has a fill, and memcached_proxy_nodes and
// memcached_proxy_routes_refused while the parent of a proxy answers.
func TestSeriesOfTheParent(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	const copied = `{"fill":{"from":"cache-b-0.cache-nodes.shop.svc:11211","items":90,"bytes":9000,"present":7,"refused":3,"seconds":1.5,"state":"%s"}}`
	const series = "memcached_fill_bytes 9000\nmemcached_fill_complete %d\nmemcached_fill_items{result=\"copied\"} 90\n" +
		"memcached_fill_items{result=\"present\"} 7\nmemcached_fill_items{result=\"refused\"} 3\nmemcached_fill_seconds 1.5\n"
	for name, test := range map[string]struct {
		parent string
		proxy  bool
		want   string
	}{
		"copying":  {parent: newParent(t, fmt.Sprintf(copied, "Copying")), want: fmt.Sprintf(series, 0)},
		"done":     {parent: newParent(t, fmt.Sprintf(copied, "Done")), want: fmt.Sprintf(series, 1)},
		"one copy": {parent: newParent(t, `{"hash":"abc"}`)},
		"gone":     {parent: gone.Listener.Addr().String()},
		"refused routes": {
			parent: newParent(t, `{"proxy":{"routes":"a","count":4,"refused":{"routes":"b","reason":"it is not ours"}}}`),
			proxy:  true, want: "memcached_proxy_nodes 4\nmemcached_proxy_routes_refused 1\n",
		},
		"a proxy's is gone": {parent: gone.Listener.Addr().String(), proxy: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := newFake(t, recorded(t, map[bool]string{true: "default", false: "proxy"}[!test.proxy])).options()
			o.Parent, o.Proxy = test.parent, test.proxy
			_, body := startAgent(t, o).get(t, "/metrics")
			got := linesWith(body, "memcached_fill_") + linesWith(body, "memcached_proxy_nodes") + linesWith(body, "memcached_proxy_routes")
			if got != test.want || !strings.Contains(body, "\nmemcached_up 1\n") {
				t.Errorf("got %q, want %q in:\n%s", got, test.want, body)
			}
		})
	}
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
