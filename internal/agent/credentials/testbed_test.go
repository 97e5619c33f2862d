// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// testbed simulates a pod: an agent, a memcached, Secrets, and a clock that moves only while the agent sleeps.
type testbed struct {
	t          testing.TB
	config     Config
	tls, users *volume
	memcached  *fakeMemcached
	now        time.Time
	sinceTick  time.Duration
	log        bytes.Buffer
	agent      *Reloader
}

// newTestbed returns a testbed whose agent does not run yet. If a Secret is nil, the pod has no volume for it.
func newTestbed(t testing.TB, tlsSecret, usersSecret map[string][]byte) *testbed {
	t.Helper()
	folder := t.TempDir()
	b := &testbed{
		t: t, now: beginning, config: Config{Folder: folder, TerminationLog: filepath.Join(t.TempDir(), "termination-log")},
		memcached: &fakeMemcached{t: t, folder: folder, tls: tlsSecret != nil, users: usersSecret != nil, ticks: 1},
	}
	if tlsSecret != nil {
		_, b.config.ClientCA = tlsSecret["ca.crt"]
		b.tls = newVolume(t, tlsSecret)
		b.config.TLSSecret = b.tls.folder
	}
	if usersSecret != nil {
		b.users = newVolume(t, usersSecret)
		b.config.UsersSecret = b.users.folder
	}
	if err := os.WriteFile(b.config.TerminationLog, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.startAgent()
	return b
}

// startAgent replaces the agent by a new one, as after a restart of its container.
func (b *testbed) startAgent() {
	b.agent = New(b.config, "", slog.New(slog.NewTextHandler(&b.log, nil)))
	b.agent.processes, b.agent.server = b.memcached, b.memcached
	b.agent.now = func() time.Time { return b.now }
	b.agent.sleep = func(_ context.Context, period time.Duration) {
		b.now = b.now.Add(period)
		for b.sinceTick += period; b.sinceTick >= time.Second; b.sinceTick -= time.Second {
			b.memcached.tick()
		}
	}
}

// begin runs the agent until memcached may start, or until the agent ends.
func (b *testbed) begin() error {
	if err := b.agent.open(); err != nil {
		return err
	}
	for b.agent.current == nil {
		period := b.agent.step(b.t.Context())
		if err := b.agent.refusal(); err != nil {
			return err
		}
		b.agent.sleep(b.t.Context(), period)
	}
	return nil
}

func (b *testbed) mustBegin() {
	b.t.Helper()
	if err := b.begin(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *testbed) run() *testbed {
	b.t.Helper()
	b.mustBegin()
	b.memcached.start()
	b.settle()
	return b
}

// settle runs steps of the agent until it has nothing to do.
func (b *testbed) settle() {
	b.t.Helper()
	for range 200 {
		period := b.agent.step(b.t.Context())
		if period == pollPeriod && b.agent.failure == nil {
			return
		}
		b.agent.sleep(b.t.Context(), period)
	}
	b.t.Fatalf("the agent does not settle: %v\n%s", b.agent.failure, b.log.String())
}

// steps runs some steps of an agent that does not settle.
func (b *testbed) steps(count int) {
	for range count {
		b.agent.sleep(b.t.Context(), b.agent.step(b.t.Context()))
	}
}

func (b *testbed) mustHave(succeeded bool, serial string, restart ...string) {
	b.t.Helper()
	status := b.agent.Status()
	got := ""
	if status.Served != nil {
		got = Serial(status.Served)
	}
	want := map[string]bool{ReasonCARemoved: false, ReasonCertificateRemoved: false, ReasonUserRemoved: false}
	for _, reason := range restart {
		want[reason] = true
	}
	if status.Succeeded != succeeded || got != serial || !maps.Equal(status.RestartRequired, want) {
		b.t.Errorf("succeeded is %t, want %t; the serial %q, want %q; restart required %v, want %v", status.Succeeded, succeeded, got, serial,
			status.RestartRequired, want)
	}
	if (status.Process != Process{}) != (len(restart) > 0) {
		b.t.Errorf("the process %v must restart", status.Process)
	}
	if b.tls != nil && status.Installed == nil {
		b.t.Error("it has no certificate")
	}
}

func (b *testbed) terminationMessage() string {
	b.t.Helper()
	text, err := os.ReadFile(b.config.TerminationLog)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}
