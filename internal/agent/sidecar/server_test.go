// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/example/memcached-operator/internal/agent/credentials"
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
	must(t, err)
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
	must(t, err)
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

// upFor5s is all that /metrics has about a memcached whose only readable value is its uptime.
const upFor5s = `# HELP memcached_up Could the memcached server be reached.
# TYPE memcached_up gauge
memcached_up 1
# HELP memcached_uptime_seconds Number of seconds since the server started.
# TYPE memcached_uptime_seconds counter
memcached_uptime_seconds 5
`

func halfReadable(request string) string {
	if request == "stats" {
		return "STAT curr_items many\r\nSTAT uptime 5\r\nEND\r\n"
	}
	return "END\r\n"
}

func TestAMemcachedThatDoesNotServe(t *testing.T) {
	for _, test := range []struct {
		name string
		// behavior is nil if memcached does not run.
		behavior func(net.Conn)
		// reason is the label "reason" of the failed scrape. ready is the answer of /readyz without the address of memcached, or empty
		// for "ok".
		reason, ready string
		// series are the lines of /metrics about memcached, or empty for those of down.
		series string
	}{
		{name: "does not run", reason: "unreachable", ready: "dial tcp ADDRESS: connect: connection refused"},
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
		{
			name: "sends a value that is no number", behavior: answering(halfReadable), reason: "malformed",
			ready: `version: unexpected reply: "END"`, series: upFor5s,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, test.behavior)
			if test.behavior == nil {
				f.stopListening()
			}
			a := startAgent(t, f.options())
			status, body := a.get(t, "/metrics")
			if status != http.StatusOK || exported(body) != cmp.Or(test.series, down) {
				t.Errorf("/metrics: %d\n%s", status, exported(body))
			}
			if count := `memcached_agent_read_failures_total{reason="` + test.reason + `"} 1`; !strings.Contains(body, count) {
				t.Errorf("/metrics lacks %s:\n%s", count, body)
			}
			wantStatus, want := http.StatusOK, "ok\n"
			if test.ready != "" {
				wantStatus, want = http.StatusServiceUnavailable, "memcached at "+f.address+": "+strings.Replace(test.ready, "ADDRESS", f.address, 1)+"\n"
			}
			if status, body := a.get(t, "/readyz"); status != wantStatus || body != want {
				t.Errorf("/readyz: %d %q, want %d %q", status, body, wantStatus, want)
			}
			if status, _ := a.get(t, "/livez"); status != http.StatusOK {
				t.Errorf("/livez: %d", status)
			}

			f.behave(recorded(t, "default"))
			f.hangUp()
			if test.behavior == nil {
				f.listen(t)
			}
			a.mustScrape(t, "memcached_up 1", `memcached_version{version="1.6.45"} 1`)
			if status, body := a.get(t, "/readyz"); status != http.StatusOK {
				t.Errorf("/readyz after recovery: %d %q", status, body)
			}
		})
	}
}

// Simultaneous scrapes share one collection, and the memory that it takes.
func TestSimultaneousScrapesShareAResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, collections := make(chan struct{}), 0
		exposition := newExposition(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
			collections++
			<-release
			return nil, nil
		}))
		statuses := make(chan int, 32)
		for i := range cap(statuses) {
			go func() {
				response := httptest.NewRecorder()
				request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
				request.Header.Set("Accept", "application/format-"+strconv.Itoa(i)) // a client cannot ask for a response of its own
				exposition.ServeHTTP(response, request)
				statuses <- response.Code
			}()
		}
		synctest.Wait()
		close(release)
		for range cap(statuses) {
			if status := <-statuses; status != http.StatusOK {
				t.Errorf("a scrape: %d", status)
			}
		}
		if collections != 1 {
			t.Errorf("%d collections", collections)
		}
	})
}

// slowReader is a response whose client reads nothing until the test closes the channel.
type slowReader struct {
	*httptest.ResponseRecorder

	release chan struct{}
}

func (r *slowReader) Write(data []byte) (int, error) {
	<-r.release
	return r.ResponseRecorder.Write(data)
}

// A client that does not read its response must not freeze the series that other clients get.
func TestASlowReaderDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry, scrapes := prometheus.NewRegistry(), 0.0
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "scrapes", Help: "Scrapes so far."}, func() float64 {
			scrapes++
			return scrapes
		}))
		exposition := newExposition(registry)
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
		slow, fast := &slowReader{httptest.NewRecorder(), make(chan struct{})}, httptest.NewRecorder()
		go exposition.ServeHTTP(slow, request)
		synctest.Wait()
		exposition.ServeHTTP(fast, request)
		close(slow.release)
		synctest.Wait()
		for want, got := range map[string]string{"\nscrapes 1\n": slow.Body.String(), "\nscrapes 2\n": fast.Body.String()} {
			if !strings.Contains(got, want) {
				t.Errorf("want %q, got:\n%s", want, got)
			}
		}
	})
}

func TestAThousandScrapesLeakNothing(t *testing.T) {
	good := recorded(t, "default")
	f := newFake(t, good)
	a := startAgent(t, f.options())
	a.mustScrape(t, "memcached_up 1")
	before := runtime.NumGoroutine()
	behaviors := []func(net.Conn){good, closesAfter(""), closesAfter("STAT pid 1\r\nSTAT"), always("nonsense\r\n"), refuses, always(unauthenticatedReply)}
	for i := range 1000 {
		f.behave(behaviors[i%len(behaviors)])
		a.get(t, "/metrics")
		if i%7 == 0 {
			f.hangUp()
		}
		if i%10 == 0 {
			a.get(t, "/readyz")
		}
	}
	f.behave(good)
	a.mustScrape(t, "memcached_up 1")
	eventually(t, "as few goroutines and connections as before", func() bool {
		open, _ := f.counts()
		return runtime.NumGoroutine() <= before && open == 1
	})
}

func TestFlags(t *testing.T) {
	defaults := Options{
		Memcached: "127.0.0.1:11211", Listen: ":9150", Timeout: time.Second, Parent: "127.0.0.1:9151",
		Credentials: credentials.Config{TLS: "127.0.0.1:11212", Folder: "/run/memcached", TerminationLog: "/dev/termination-log"},
	}
	secured := defaults
	secured.Credentials = credentials.Config{
		TLSSecret: "/a", TLS: "127.0.0.1:11212", ClientCA: true, UsersSecret: "/b", Folder: "/c", TerminationLog: "/d",
	}
	for flags, want := range map[string]Options{
		"": defaults, "--tls-secret=/a --client-ca --users-secret=/b --credentials=/c --termination-log=/d": secured,
	} {
		if got, err := parse(strings.Fields(flags), nil); err != nil || got != want || got.Credentials.Enabled() != (flags != "") {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}

// Without the folder for memcached's files, the agent ends with an error.
func TestAFolderThatIsMissingEndsTheAgent(t *testing.T) {
	err := Run(t.Context(), []string{"--listen=127.0.0.1:0", "--users-secret=/none", "--credentials=/missing"}, "", io.Discard)
	if err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("got %v", err)
	}
}

func TestWrongFlagsAreRefusedInOneSentence(t *testing.T) {
	for arg, want := range map[string]string{
		"--nonsense":              "flag provided but not defined: -nonsense",
		"stray":                   `unexpected argument "stray"`,
		"--timeout=soon":          `invalid value "soon" for flag -timeout`,
		"--listen=127.0.0.1:port": "unknown port",
	} {
		var log bytes.Buffer
		err := Run(t.Context(), []string{arg}, "", &log)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", arg, err, want)
		}
		if usage := errors.Is(err, ErrUsage); usage == strings.Contains(arg, "port") {
			t.Errorf("%s: an error of usage is %t", arg, usage)
		}
		if log.Len() > 0 {
			t.Errorf("%s: logged %s", arg, log.String())
		}
	}
}
