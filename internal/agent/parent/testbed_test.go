// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/repository"
	"github.com/example/memcached-operator/test/traffic"
)

// patienceOfTests is longer than any wait in these tests takes, even on a busy machine.
const patienceOfTests = time.Minute

const uid = "d7b5b0c2-6c9e-4a57-8f0e-0123456789ab"

// pod is the container of a node, with a real memcached. Its ConfigMap and volumes are folders.
type pod struct {
	t       *testing.T
	options Options
	signals chan os.Signal
	// number is the number of the last entry.
	number int64

	ended chan int
	mutex sync.Mutex
	log   strings.Builder
}

func newPod(t *testing.T) *pod {
	t.Helper()
	dir, address := t.TempDir(), newNetwork()+"1"
	p := &pod{t: t, options: Options{
		Arguments: filepath.Join(dir, "arguments"), Name: "sessions-1", Pod: uid, State: filepath.Join(dir, "state"),
		Items: filepath.Join(dir, "items"), Listen: address + ":9151", Memcached: address + ":11211", Program: filepath.Join(dir, "memcached"),
		settled: time.Second, poll: 20 * time.Millisecond, reclaim: 100 * time.Millisecond,
		settleClients: 300 * time.Millisecond, refill: 300 * time.Millisecond, crawler: patienceOfTests,
	}}
	must(t, os.Mkdir(p.options.Arguments, 0o700))
	must(t, os.Mkdir(p.options.State, 0o700))
	self, err := user.Current()
	must(t, err)
	// The script lets memcached run as root, and sets the address and the items file of this test. It fails at once for -t 2. For -t 3, it
	// kills memcached after that has read NAME.meta (see the type items).
	script := fmt.Sprintf(`#!/bin/sh
for argument; do
	shift
	set -- "$@" "$(echo "$argument" | sed 's|/run/memcached-items/items|%s|')"
done
case "$*" in
*"-t 2 "*) echo no such option >&2; exit 64 ;;
*"-t 3 "*) (while [ -e %s ]; do sleep 0.01; done; kill -KILL $$) 2>/dev/null & ;;
esac
exec %s -u %s "$@" -l %s
`, p.options.Items, items(p.options.Items).meta(), repository.Path("bin", "memcached"), self.Username, p.options.Memcached)
	must(t, os.WriteFile(p.options.Program, []byte(script), 0o700))
	return p
}

// claims makes memcached's -V print this version.
func (p *pod) claims(version string) {
	p.t.Helper()
	script, err := os.ReadFile(p.options.Program)
	must(p.t, err)
	_, rest, _ := strings.Cut(string(script), "\n")
	text := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = -V ] && echo %s && exit\n%s", version, rest)
	must(p.t, os.WriteFile(p.options.Program, []byte(text), 0o700))
}

// write changes the ConfigMap as the kubelet does: a new file takes the place of the old one.
func (p *pod) write(name, text string) {
	p.t.Helper()
	file := filepath.Join(p.options.Arguments, name)
	must(p.t, os.WriteFile(file+"~", []byte(text), 0o600))
	must(p.t, os.Rename(file+"~", file))
}

// assign makes a list the next entry of this pod, and returns the entry's number.
func (p *pod) assign(list protocol.List) int64 {
	p.t.Helper()
	p.number++
	p.write(p.options.Name, protocol.Entry{Pod: p.options.Pod, Number: p.number, List: list}.String())
	return p.number
}

func (p *pod) start() {
	p.t.Helper()
	p.run(func(signals <-chan os.Signal) (int, error) {
		return Run(context.Background(), p.options, signals, log.New(p, "", 0))
	})
}

// run runs a container in the background. At the end of the test, the container gets SIGTERM.
func (p *pod) run(container func(signals <-chan os.Signal) (int, error)) {
	p.signals, p.ended = make(chan os.Signal, 8), make(chan int, 1)
	signals, ended := p.signals, p.ended
	go func() {
		runtime.LockOSThread() // the thread ends with this goroutine, and memcached with the thread
		code, err := container(signals)
		for errors.Is(err, syscall.EADDRINUSE) { // a process that another test starts has the former container's listener for a moment
			code, err = container(signals)
		}
		if err != nil {
			_, _ = fmt.Fprintln(p, err)
		}
		ended <- code
	}()
	p.t.Cleanup(func() {
		select {
		case signals <- syscall.SIGTERM:
		default:
		}
	})
}

// first starts the pod's first container with a list.
func (p *pod) first(list protocol.List) {
	p.t.Helper()
	p.options.First = list
	p.start()
}

func (p *pod) begin(list protocol.List) {
	p.t.Helper()
	p.first(list)
	p.runs(0)
}

// Write implements io.Writer for the log.
func (p *pod) Write(text []byte) (int, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.log.Write(text)
}

func (p *pod) logged() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.log.String()
}

func (p *pod) end() int {
	p.t.Helper()
	p.signals <- syscall.SIGTERM
	return p.exit()
}

func (p *pod) exit() int {
	p.t.Helper()
	select {
	case code := <-p.ended:
		return code
	case <-time.After(patienceOfTests):
		p.t.Fatalf("the parent does not end; it logged:\n%s", p.logged())
		return 0
	}
}

// exits waits until the container ends with this code.
func (p *pod) exits(want int) {
	p.t.Helper()
	if code := p.exit(); code != want {
		p.t.Errorf("exit code %d", code)
	}
}

// has fails the test unless memcached has this number of the items from store.
func (p *pod) has(count int) {
	p.t.Helper()
	if found := p.stored(stored); found != count {
		p.t.Errorf("%d items, not %d; the parent logged:\n%s", found, count, p.logged())
	}
}

// full starts the pod's first container, with items in a file.
func (p *pod) full() *pod {
	p.t.Helper()
	p.begin(inFile(p.t))
	p.store(stored)
	return p
}

// status waits until the status fulfills a condition.
func (p *pod) status(what string, fulfilled func(protocol.Status) bool) (status protocol.Status) {
	p.t.Helper()
	p.await(what, func() error {
		response, err := p.get(protocol.StatusPath)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		var answer protocol.Status
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK || !fulfilled(answer) {
			return fmt.Errorf("the status is %+v", answer)
		}
		status = answer
		return nil
	})
	return status
}

// runs waits until the entry with this number is in effect, 0 for the list of the first start.
func (p *pod) runs(number int64) protocol.Status {
	p.t.Helper()
	return p.status(fmt.Sprintf("entry %d is in effect", number), func(s protocol.Status) bool { return s.Number == number && !s.Since.IsZero() })
}

// refuses waits until the entry with this number is refused, and the entry with the number in effect serves.
func (p *pod) refuses(number, effect int64) protocol.Status {
	p.t.Helper()
	return p.status(fmt.Sprintf("entry %d is refused", number), func(s protocol.Status) bool {
		return s.Refused != nil && s.Refused.Number == number && s.Number == effect && !s.Since.IsZero() && !s.Restarting
	})
}

func (p *pod) get(path string) (*http.Response, error) {
	return http.Get("http://" + p.options.Listen + path)
}

func (p *pod) untilReady(code int) {
	p.t.Helper()
	p.await(fmt.Sprintf("readiness is %d", code), func() error {
		if got := p.ready(); got != code {
			return fmt.Errorf("it is %d", got)
		}
		return nil
	})
}

// ready returns the answer to the readiness probe.
func (p *pod) ready() int {
	p.t.Helper()
	response, err := p.get(protocol.ReadyPath)
	must(p.t, err)
	must(p.t, response.Body.Close())
	return response.StatusCode
}

func (p *pod) await(what string, check func() error) {
	p.t.Helper()
	var err error
	for began := time.Now(); time.Since(began) < patienceOfTests; time.Sleep(10 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	p.t.Fatalf("waiting until %s: %v; the parent logged:\n%s", what, err, p.logged())
}

// networks is the number of networks that this process has used.
var networks atomic.Int32

// newNetwork returns the beginning of loopback addresses that nobody else uses, such as "127.64.1.".
func newNetwork() string {
	number := int(networks.Add(1))
	return fmt.Sprintf("127.%d.%d.", 64+(os.Getpid()+number/256)%128, number%256)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inMemory returns a list for 64 MiB of items in memory. inFile returns a list for 128 MiB of items in a file. The changes are pairs of old
// and new text.
func inMemory(t *testing.T, changes ...string) protocol.List {
	t.Helper()
	return list(t, "-p 11211 -U 0 -m 64 -c 1055 -t 4 -I 1m -W -X -o read_buf_mem_limit=44", changes)
}

func inFile(t *testing.T, changes ...string) protocol.List {
	t.Helper()
	return list(t, "-p 11211 -U 0 -m 128 -c 1055 -t 4 -I 1m -W -X -e /run/memcached-items/items -o read_buf_mem_limit=44", changes)
}

func list(t *testing.T, arguments string, changes []string) protocol.List {
	t.Helper()
	list := protocol.List{Target: "target", Arguments: strings.NewReplacer(changes...).Replace(arguments)}
	must(t, list.Check())
	return list
}

// pid returns the process ID of memcached.
func (p *pod) pid() int {
	p.t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(p.t, err)
	for _, entry := range entries {
		text, err := os.ReadFile(entry)
		if err == nil && strings.Contains(string(text), "-l\x00"+p.options.Memcached+"\x00") {
			var pid int
			if _, err := fmt.Sscanf(entry, "/proc/%d/cmdline", &pid); err == nil {
				return pid
			}
		}
	}
	p.t.Fatalf("memcached does not run; the parent logged:\n%s", p.logged())
	return 0
}

func (p *pod) client() *memcache.Conn {
	p.t.Helper()
	var conn *memcache.Conn
	p.await("memcached accepts a connection", func() (err error) {
		conn, err = memcache.Dial(p.t.Context(), p.options.Memcached)
		return err
	})
	p.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (p *pod) store(count int) {
	p.t.Helper()
	conn := p.client()
	for i := range count {
		reply, err := conn.Command(p.t.Context(), fmt.Sprintf("set key-%d 0 3600 100\r\n%s", i, strings.Repeat("v", 100)))
		must(p.t, err)
		if reply != "STORED" {
			p.t.Fatal(reply)
		}
	}
}

// stored returns how many of the items from store are still there.
func (p *pod) stored(count int) int {
	p.t.Helper()
	conn, found := p.client(), 0
	for i := range count {
		value, err := traffic.Read(p.t.Context(), conn, fmt.Sprintf("key-%d", i))
		must(p.t, err)
		if value != nil {
			found++
		}
	}
	return found
}

func (p *pod) setting(name string) string {
	p.t.Helper()
	settings, err := p.client().Stats(p.t.Context(), "settings")
	must(p.t, err)
	return settings[name]
}
