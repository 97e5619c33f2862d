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

// reload is the state while memcached reads the values.
type reload struct {
	// first reports that memcached has just been started.
	first bool
	// sent is when memcached was last signaled, and begun when it was seen to have begun, zero before that.
	sent, begun time.Time
	// blind reports that memcached cannot be asked, because its clients have all of its connections. Newer routes need not wait for this
	// reload then.
	blind bool
}

// busy reports whether memcached may be reading its values: it ignores a signal meanwhile.
func (p *proxy) busy() bool { return p.reload != nil && !p.reload.blind }

// send asks memcached to read its values again. It does so within a second, without dropping a connection.
func (p *proxy) send() {
	p.reload.sent = time.Now()
	_ = p.process.signal(syscall.SIGHUP) // the loop sees the end of the process
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

// settle finds out whether memcached has read its values. memcached counts when it begins and when it fails, so it has succeeded if it has
// begun and not failed a while later. If it has not begun, or does not answer, it is signaled again: reading the values twice does no harm.
func (p *proxy) settle(ctx context.Context) {
	loaded, failed, err := p.reloads(ctx)
	switch {
	case p.reload.first && errors.Is(err, memcache.ErrConnectionLimit): // it serves, and clients have all of its connections
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
