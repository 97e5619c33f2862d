// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

type agent struct {
	url    string
	client *http.Client
	// cancel tells the agent to end. stop also waits until it has ended.
	cancel func()
	stop   func() error
}

// startAgent runs an agent until the test ends.
func startAgent(t *testing.T, o Options) *agent {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, o, "v1.2.3", slog.New(slog.DiscardHandler), listener) }()
	stop := sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := stop(); err != nil {
			t.Errorf("the agent ended with %v", err)
		}
	})
	// The client's timeout expires only if the agent is blocked.
	return &agent{
		url: "http://" + listener.Addr().String(), client: &http.Client{Transport: transport, Timeout: 20 * time.Second},
		cancel: cancel, stop: stop,
	}
}

// send sends a request. The caller must close the body of the response.
func (a *agent) send(t *testing.T, method, path string, header http.Header) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, a.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	return a.client.Do(request)
}

func (a *agent) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	response, err := a.send(t, http.MethodGet, path, http.Header{})
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return response.StatusCode, string(text)
}

func (a *agent) mustScrape(t *testing.T, lines ...string) {
	t.Helper()
	status, body := a.get(t, "/metrics")
	for _, line := range lines {
		if !strings.Contains("\n"+body, "\n"+line+"\n") {
			t.Errorf("/metrics: status %d, without %s:\n%s", status, line, exported(body))
		}
	}
}

// exported returns the lines of /metrics about memcached. It leaves out those about the agent and its process.
func exported(body string) string {
	var lines strings.Builder
	for line := range strings.Lines(body) {
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if strings.HasPrefix(name, "memcached_") && !strings.HasPrefix(name, "memcached_agent_") {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

// down is all that /metrics has about a memcached whose statistics cannot be read.
const down = `# HELP memcached_up Could the memcached server be reached.
# TYPE memcached_up gauge
memcached_up 0
`

func TestAMemcachedThatDoesNotServe(t *testing.T) {
	for _, test := range []struct {
		name     string
		behavior func(net.Conn)
		// reason is the label "reason" of the failed scrape. ready is the answer of /readyz without the address of memcached, or empty
		// for "ok".
		reason, ready string
	}{
		{name: "hangs", behavior: hangs, reason: "timeout", ready: "no answer within 1s"},
		{name: "sends a byte at a time", behavior: repeats("S", 50*time.Millisecond), reason: "timeout", ready: "no answer within 1s"},
		{name: "hangs in the middle", behavior: always("STAT pid 1\r\nSTAT upt"), reason: "timeout", ready: `version: unexpected reply: "STAT pid 1"`},
		{name: "sends an endless line", behavior: repeats("STAT", 0), reason: "malformed", ready: "version: unexpected reply: a line of more than 4096 bytes"},
		{name: "sends endless lines", behavior: repeats("STAT pid 1\r\n", 0), reason: "malformed", ready: `version: unexpected reply: "STAT pid 1"`},
		{name: "is something else", behavior: always("HTTP/1.1 400 Bad Request\r\n\r\n"), reason: "malformed", ready: `version: unexpected reply: "HTTP/1.1 400 Bad Request"`},
		{name: "sends control characters", behavior: always("\x1b[2J\u202e\x00\r\n"), reason: "malformed", ready: `version: unexpected reply: "\x1b[2J\u202e\x00"`},
		{name: "sends too much", behavior: always(versionReply + "END\r\n"), reason: "malformed", ready: "version: unexpected reply: 5 bytes too many"},
		{name: "has no memory", behavior: always("SERVER_ERROR out of memory writing stats\r\n"), reason: "malformed", ready: `version: unexpected reply: "SERVER_ERROR out of memory writing stats"`},
		{name: "closes at once", behavior: closesAfter(""), reason: "closed", ready: "memcached closed the connection"},
		{name: "closes in the middle", behavior: closesAfter("VERSION 1.6"), reason: "closed", ready: "memcached closed the connection"},
		{name: "demands authentication", behavior: always(unauthenticatedReply), reason: "unauthenticated"},
		{name: "knows no version", behavior: always("ERROR\r\n"), reason: "malformed"},
		{name: "is at its limit", behavior: refuses, reason: "connection_limit"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, test.behavior)
			a := startAgent(t, f.options())
			status, body := a.get(t, "/metrics")
			if status != http.StatusOK || exported(body) != down {
				t.Errorf("/metrics: %d\n%s", status, exported(body))
			}
			if count := `memcached_agent_read_failures_total{reason="` + test.reason + `"} 1`; !strings.Contains(body, count) {
				t.Errorf("/metrics lacks %s:\n%s", count, body)
			}
			wantStatus, want := http.StatusOK, "ok\n"
			if test.ready != "" {
				wantStatus, want = http.StatusServiceUnavailable, "memcached at "+f.address+": "+test.ready+"\n"
			}
			if status, body := a.get(t, "/readyz"); status != wantStatus || body != want {
				t.Errorf("/readyz: %d %q, want %d %q", status, body, wantStatus, want)
			}
			if status, _ := a.get(t, "/livez"); status != http.StatusOK {
				t.Errorf("/livez: %d", status)
			}

			f.behave(recorded(t, "default"))
			f.hangUp()
			a.mustScrape(t, "memcached_up 1", `memcached_version{version="1.6.45"} 1`)
			if status, body := a.get(t, "/readyz"); status != http.StatusOK {
				t.Errorf("/readyz after recovery: %d %q", status, body)
			}
		})
	}
}

func TestAMemcachedThatDoesNotRun(t *testing.T) {
	f := newFake(t, recorded(t, "default"))
	f.stopListening()
	a := startAgent(t, f.options())
	a.mustScrape(t, "memcached_up 0", `memcached_agent_read_failures_total{reason="unreachable"} 1`)
	if status, body := a.get(t, "/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "connection refused") {
		t.Errorf("/readyz: %d %q", status, body)
	}
	f.listen(t)
	a.mustScrape(t, "memcached_up 1")
	if status, body := a.get(t, "/readyz"); status != http.StatusOK {
		t.Errorf("/readyz: %d %q", status, body)
	}
}

// If a value is not a number, only the value's series is missing.
func TestAnUnreadableValueIsCounted(t *testing.T) {
	f := newFake(t, answering(func(request string) string {
		if request == "stats" {
			return "STAT curr_items many\r\nSTAT uptime 5\r\nEND\r\n"
		}
		return "END\r\n"
	}))
	a := startAgent(t, f.options())
	status, body := a.get(t, "/metrics")
	want := "# HELP memcached_up Could the memcached server be reached.\n# TYPE memcached_up gauge\nmemcached_up 1\n" +
		"# HELP memcached_uptime_seconds Number of seconds since the server started.\n" +
		"# TYPE memcached_uptime_seconds counter\nmemcached_uptime_seconds 5\n"
	if status != http.StatusOK || exported(body) != want {
		t.Errorf("/metrics: %d\n%s", status, exported(body))
	}
	if !strings.Contains(body, `memcached_agent_read_failures_total{reason="malformed"} 1`) {
		t.Errorf("the failure is not counted:\n%s", body)
	}
}
