// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcache"
)

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
