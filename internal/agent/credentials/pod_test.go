// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package credentials

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// rootfs has the files of the memcached image that the local cluster uses. hack/cluster/images.sh makes it.
const rootfs = "../../../bin/images/memcached/rootfs"

func inRootfs(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(rootfs, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v: make test-e2e unpacks memcached there", pattern, found, err)
	}
	return found[0]
}

// pod is a real memcached with an agent. Each pod has a port for plaintext, and one for TLS.
type pod struct {
	t         *testing.T
	config    Config
	plaintext string
	args      []string
	tls       *volume
	users     *volume

	// named is true if the process of memcached has the name memcached.
	named     bool
	memcached *exec.Cmd
	output    lockedBuffer
	log       lockedBuffer
	agent     *Reloader
	stopAgent func()
}

type lockedBuffer struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

// Write implements io.Writer.
func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(text)
}

// String implements fmt.Stringer.
func (b *lockedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// newPod starts an agent and a memcached. If a Secret is nil, the pod has no volume for it.
func newPod(t *testing.T, tlsSecret, usersSecret map[string][]byte) *pod {
	t.Helper()
	p := &pod{t: t, plaintext: freeAddress(t), config: Config{
		Folder: t.TempDir(), TerminationLog: filepath.Join(t.TempDir(), "log"), Processes: t.TempDir(), TLS: freeAddress(t),
	}}
	listeners := p.plaintext
	if tlsSecret != nil {
		p.tls = newVolume(t, tlsSecret)
		p.config.TLSSecret = p.tls.folder
		_, tlsPort, _ := net.SplitHostPort(p.config.TLS)
		listeners = "notls:" + p.plaintext + ",*:" + tlsPort
		p.args = append(p.args, "-Z", "-o", "ssl_chain_cert="+p.file("tls.crt")+",ssl_key="+p.file("tls.key"))
		if _, p.config.ClientCA = tlsSecret["ca.crt"]; p.config.ClientCA {
			p.args = append(p.args, "-o", "ssl_ca_cert="+p.file("ca.crt")+",ssl_verify_mode=2")
		}
	}
	if usersSecret != nil {
		p.users = newVolume(t, usersSecret)
		p.config.UsersSecret = p.users.folder
		p.args = append(p.args, "-Y", p.file("users"))
	}
	p.args = append(p.args, "-l", listeners, "-U", "0", "-t", "2", "-c", "100", "-m", "64", "-F", "-X", "-W", "-v")
	if err := os.WriteFile(p.config.TerminationLog, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.killAgent()
		p.kill()
	})
	p.runAgent()
	p.await("the start", func(s Status) bool { return s.Started })
	p.start()
	p.await("the verification", func(s Status) bool { return s.Succeeded && p.settled() })
	return p
}

func (p *pod) file(name string) string { return filepath.Join(p.config.Folder, "current", name) }

// start starts memcached, and adds its process to the folder in which the agent looks for processes.
func (p *pod) start() {
	p.t.Helper()
	// With the image's dynamic linker, memcached uses the image's libraries, and needs no chroot.
	loader := inRootfs(p.t, "usr/lib*/ld-linux-*.so.*")
	args := append([]string{"--library-path", inRootfs(p.t, "usr/lib/*-linux-gnu*"), inRootfs(p.t, "usr/bin/memcached")}, p.args...)
	if os.Geteuid() == 0 {
		args = append(args, "-u", "root")
	}
	p.memcached = exec.Command(loader, args...)
	p.memcached.Stdout, p.memcached.Stderr = &p.output, &p.output
	if err := p.memcached.Start(); err != nil {
		p.t.Fatal(err)
	}
	id := strconv.Itoa(p.memcached.Process.Pid)
	if err := os.Symlink("/proc/"+id, filepath.Join(p.config.Processes, id)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pod) kill() {
	if p.memcached == nil {
		return
	}
	_ = p.memcached.Process.Kill()
	_ = p.memcached.Wait()
	_ = os.Remove(filepath.Join(p.config.Processes, strconv.Itoa(p.memcached.Process.Pid)))
	p.memcached = nil
}

func (p *pod) runAgent() {
	p.agent = New(p.config, p.plaintext, slog.New(slog.NewTextHandler(&p.log, nil)))
	if !p.named {
		p.agent.processes = anyProcess{os.DirFS(p.config.Processes)}
	}
	// The agent polls more often than usual, to save time.
	p.agent.sleep = func(ctx context.Context, period time.Duration) {
		if period == promptPeriod || period == pollPeriod {
			period /= 10
		}
		select {
		case <-ctx.Done():
		case <-time.After(period):
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.agent.Run(ctx) }()
	p.stopAgent = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			p.t.Errorf("the agent ended with %v", err)
		}
	})
}

func (p *pod) killAgent() { p.stopAgent() }

// anyProcess finds the process of memcached, which has the name of the dynamic linker that has started it.
type anyProcess struct{ procfs fs.FS }

func (a anyProcess) named() procfs {
	names, err := fs.Glob(a.procfs, "*/comm")
	if err != nil || len(names) == 0 {
		return procfs{files: a.procfs}
	}
	name, _ := fs.ReadFile(a.procfs, names[0])
	return procfs{files: a.procfs, name: strings.TrimSpace(string(name))}
}

func (a anyProcess) find() (Process, error)       { return a.named().find() }
func (a anyProcess) hangUp(process Process) error { return a.named().hangUp(process) }

func (p *pod) await(what string, is func(Status) bool) {
	p.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(p.agent.Status()); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: not within 30 s: %+v\n%s\n%s", what, p.agent.Status(), p.log.String(), p.output.String())
		}
	}
}

// settled reports whether the agent has verified what the running memcached has read, and no reload is pending.
func (p *pod) settled() bool {
	text, err := os.ReadFile(filepath.Join(p.config.Folder, recordFile))
	return err == nil && !strings.Contains(string(text), "pending") &&
		strings.Contains(p.log.String(), fmt.Sprintf("credentials\" process=%d ", p.memcached.Process.Pid))
}

// rotate changes the Secrets that are not nil, and waits until the agent has verified that memcached has read them.
func (p *pod) rotate(tlsSecret, usersSecret map[string][]byte) {
	p.t.Helper()
	before := strings.Count(p.log.String(), "memcached has read its changed credentials")
	if tlsSecret != nil {
		p.tls.set(p.t, tlsSecret)
	}
	if usersSecret != nil {
		p.users.set(p.t, usersSecret)
	}
	p.await("the reload", func(s Status) bool {
		return s.Succeeded && strings.Count(p.log.String(), "memcached has read its changed credentials") > before
	})
}

// mustKeepSecrets fails the test if one of the secrets, or a private key, is in a log, the termination message or the status.
func (p *pod) mustKeepSecrets(secrets ...string) {
	p.t.Helper()
	message, err := os.ReadFile(p.config.TerminationLog)
	if err != nil {
		p.t.Error(err)
	}
	outputs := p.log.String() + p.output.String() + string(message) + fmt.Sprintf("%+v", p.agent.Status())
	for _, secret := range append(secrets, "PRIVATE KEY") {
		if strings.Contains(outputs, secret) {
			p.t.Errorf("%q is in\n%s", secret, outputs)
		}
	}
}
