// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcache"
)

// program is the Lua program that makes memcached's routes from the values file.
//
//go:embed routes.lua
var program []byte

// copiesRoute is the Lua code for routes to several pools with the same items.
//
//go:embed copies.lua
var copiesRoute []byte

// readRoutes returns the routes in the ConfigMap and their text. The text is returned even if it is invalid.
func (o ProxyOptions) readRoutes() (protocol.Routes, string, error) {
	text, err := os.ReadFile(filepath.Join(o.Routes, protocol.RoutesKey))
	if err != nil {
		return protocol.Routes{}, "", err
	}
	routes, err := protocol.ParseRoutes(string(text))
	if err == nil {
		err = o.checkNamespace(routes)
	}
	return routes, string(text), err
}

// checkNamespace refuses routes to nodes outside the pod's namespace: whoever may write the ConfigMap could otherwise send the clients
// elsewhere. The kubelet begins the DNS search list with NAMESPACE.svc.DOMAIN.
func (o ProxyOptions) checkNamespace(routes protocol.Routes) error {
	namespace, _, found := strings.Cut(strings.Join(o.dns.searchList(), " "), ".svc.")
	for _, pattern := range routes.Patterns() {
		if found && !strings.HasSuffix(pattern, "."+namespace+".svc") {
			return fmt.Errorf("%w: the nodes %s are not in the namespace %s", protocol.ErrNotOurs, protocol.Shorten(pattern), namespace)
		}
	}
	return nil
}

// acceptedRoutes returns the routes that an earlier container accepted.
func (o ProxyOptions) acceptedRoutes() (protocol.Routes, error) {
	text, err := os.ReadFile(o.accepted())
	if err != nil {
		return protocol.Routes{}, err
	}
	return protocol.ParseRoutes(string(text))
}

// valuesOf returns the text of the values file. It leaves out nodes without an address: the Lua program treats them as unreachable.
func (o ProxyOptions) valuesOf(routes protocol.Routes, count int, known addresses) string {
	var text strings.Builder
	fmt.Fprintf(&text, "count %d\nbuffers %d\nrequests %d\n", count, o.Threads*buffersPerThread, o.requests())
	for i, pattern := range routes.Patterns() {
		fmt.Fprintf(&text, "name%d %s\n", i+1, pattern)
	}
	for _, name := range routes.Names(count) {
		if address := known[name]; address.IsValid() {
			fmt.Fprintf(&text, "%s %s\n", name, address)
		}
	}
	return text.String()
}

// lastKnown returns the addresses in the values file of an earlier container.
func (o ProxyOptions) lastKnown() addresses {
	known := addresses{}
	text, err := os.ReadFile(o.values())
	if err != nil {
		return known
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if address, err := netip.ParseAddr(value); err == nil {
			known[name] = address
		}
	}
	return known
}

// buffersPerThread limits the responses that clients have not read yet, in KiB for each thread. In memcached, these responses take up
// to twice this amount of memory.
const buffersPerThread = 16 << 10

// reload is the state of a reload, in which memcached reads its routes.
type reload struct {
	// first reports that memcached has just been started, so no signal was sent.
	first bool
	// sent is when memcached was started or last signaled. begun is when the parent noticed that memcached had begun to read, or zero.
	sent, begun time.Time
	// blind reports that memcached has not answered, for example because clients use all connections. Newer routes do not wait for
	// such a reload.
	blind bool
}

// busy reports whether newer routes must wait for a reload. While memcached reads its routes, it ignores signals.
func (p *proxy) busy() bool { return p.reload != nil && !p.reload.blind }

// send makes memcached read its routes again within a second. Clients stay connected.
func (p *proxy) send() {
	p.reload.sent = time.Now()
	_ = p.process.signal(syscall.SIGHUP) // if the process has ended, the loop notices it
}

// settling returns a channel that fires when it is time to check the reload, or nil without a reload.
func (p *proxy) settling() <-chan time.Time {
	if p.reload == nil {
		return nil
	}
	return time.After(p.options.settle)
}

var errUnread = errors.New(
	"memcached could not read its routes (proxy_config_reload_fails) and is asked again: the former ones are in effect")

// settle checks whether memcached has read its routes. memcached counts only begun and failed reloads, so a reload counts as successful if
// it does not fail within options.confirm. If memcached does not begin, fails or does not answer, settle signals it again. Another signal
// does no harm.
func (p *proxy) settle(ctx context.Context) {
	loaded, failed, err := p.reloads(ctx)
	switch {
	case p.reload.first && errors.Is(err, memcache.ErrConnectionLimit): // memcached serves, but clients use all of its connections
		p.settled()
		return
	case err != nil:
	case p.reload.first:
		p.loaded, p.failed = loaded, failed
		p.settled()
		return
	case failed > p.failed:
		p.loaded, p.failed, p.reload.begun = loaded, failed, time.Time{}
		p.refuse(p.routes.String(), errUnread)
	case loaded > p.loaded:
		p.loaded, p.reload.begun = loaded, time.Now()
	}
	switch begun := p.reload.begun; {
	case !begun.IsZero() && time.Since(begun) >= p.options.confirm:
		p.settled()
	case begun.IsZero() && !p.reload.first && time.Since(p.reload.sent) >= p.options.resend:
		p.reload.blind = err != nil
		p.send()
	}
}

// settled records that memcached has read its routes.
func (p *proxy) settled() {
	p.reload = nil
	if p.refused == errUnread.Error() {
		p.forgive()
	}
	p.view.update(func(v *view) { v.serving, v.status.Proxy.Reloading = true, false })
}

// reloads returns how often memcached has begun to read routes, and how often this has failed.
func (p *proxy) reloads(ctx context.Context) (loaded, failed int64, err error) {
	err = ask(ctx, p.options.Memcached, protocol.List{}, func(ctx context.Context, conn *memcache.Conn) error {
		stats, err := conn.Stats(ctx)
		loaded, failed = number(stats, "proxy_config_reloads"), number(stats, "proxy_config_reload_fails")
		return err
	})
	return loaded, failed, err
}
