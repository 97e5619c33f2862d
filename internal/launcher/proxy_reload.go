// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcache"
)

// reload is memcached's reading of the values, until it is known to be done.
type reload struct {
	// first says that memcached has just been started.
	first bool
	// sent is when memcached was last asked for it, and begun when it was found to have begun, zero before that.
	sent, begun time.Time
	// blind says that memcached does not tell, because its clients have all of its connections. Other routes need not wait for it.
	blind bool
}

// busy reports whether memcached may be reading its values: it ignores a signal meanwhile.
func (p *proxy) busy() bool { return p.reload != nil && !p.reload.blind }

// send asks memcached to read its values again. It does so within a second, without dropping a connection.
func (p *proxy) send() {
	p.reload.sent = time.Now()
	_ = p.process.signal(syscall.SIGHUP) // a process that has ended says so elsewhere
}

// settling returns a channel while memcached reads its values.
func (p *proxy) settling() <-chan time.Time {
	if p.reload == nil {
		return nil
	}
	return time.After(p.options.settle)
}

var errUnread = errors.New(
	"memcached could not read its routes (proxy_config_reload_fails) and is asked again: the former ones are in effect")

// settle finds out whether memcached has read its values. It counts when it begins to, so it counts as done if that has not failed a while
// later. One that does not answer is signaled again: to read the values twice does no harm.
func (p *proxy) settle(ctx context.Context) {
	loaded, failed, err := p.reloads(ctx)
	switch {
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

// settled notes that memcached has read its values.
func (p *proxy) settled() {
	p.reload = nil
	if p.refused == errUnread.Error() {
		p.forgive()
	}
	p.view.update(func(v *proxyView) { v.serving, v.status.Reloading = true, false })
}

// reloads returns how often memcached has read routes, and how often that has failed.
func (p *proxy) reloads(ctx context.Context) (loaded, failed int64, err error) {
	err = ask(ctx, p.options.Memcached, protocol.List{}, func(ctx context.Context, conn *memcache.Conn) error {
		stats, err := conn.Stats(ctx)
		loaded, failed = number(stats, "proxy_config_reloads"), number(stats, "proxy_config_reload_fails")
		return err
	})
	return loaded, failed, err
}

// proxyView is what the server says of a proxy. The proxy's loop writes it.
type proxyView struct {
	mutex  sync.Mutex
	status protocol.ProxyStatus
	// since is when the present number of nodes came into effect.
	since time.Time
	// serving is false until memcached has started.
	serving bool
}

func (v *proxyView) update(change func(*proxyView)) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	change(v)
}

// excused reports whether memcached need not accept connections at present: the startup probe limits that.
func (v *proxyView) excused(time.Time) bool {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return !v.serving
}

// MarshalJSON returns the status.
func (v *proxyView) MarshalJSON() ([]byte, error) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	status := v.status
	status.Seconds = time.Since(v.since).Seconds()
	return json.Marshal(status)
}
