// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package credentials

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	nodes "github.com/example/memcached-operator/internal/ask"
	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// route writes a proxy's routes into the file from which the launcher reads them. If the launcher runs, route waits until the
// routes are in effect.
func (p *launchedPod) route(text string) {
	p.t.Helper()
	file := filepath.Join(p.dir, "arguments", protocol.RoutesKey)
	must(p.t, os.WriteFile(file+"~", []byte(text), 0o600))
	must(p.t, os.Rename(file+"~", file))
	if p.launcher == nil {
		return
	}
	p.await("the routes "+text, func(Status) bool {
		status, err := nodes.New().Proxy(context.Background(), "http://"+p.status)
		return err == nil && status.Routes == text && !status.Reloading && status.Refused == nil
	})
}

// On SIGHUP, a proxy reads its certificate and its routes. Both the agent and the launcher send it this signal.
func TestTheAgentAndTheLauncherOfAProxy(t *testing.T) {
	t.Parallel()
	ca := issue(t, 1, nil, authority)
	first, second, third := issue(t, 0xa1, ca), issue(t, 0xb2, ca), issue(t, 0xc3, ca)
	p := newLaunchedPod(t, first.tlsSecret(t, ca), nil)
	p.runAgent()
	p.await("the start", func(s Status) bool { return s.Started })
	p.route("cache-%d.cache.shop.svc 0\n")
	p.launch("proxy", "--routes="+filepath.Join(p.dir, "arguments"), "--threads=2", "--max-connections=100", "--agent", "--tls=1.2", "--client-ca")
	p.await("the verification", func(s Status) bool {
		return s.Succeeded && strings.Contains(p.log.String(), fmt.Sprintf("credentials\" process=%d ", p.memcachedID()))
	})
	p.mustServe(first, first)
	process := p.memcachedID()

	p.rotate(second.tlsSecret(t, ca), nil)
	p.mustServe(second, second)
	p.route("cache-%d.cache.shop.svc 1\n")
	p.rotate(third.tlsSecret(t, ca), nil)
	p.route("cache-%d.cache.shop.svc 2\n")
	p.mustServe(third, third)
	if p.memcachedID() != process {
		t.Error("memcached has ended by a signal")
	}
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Errorf("the container ended with %d", code)
	}
}
