// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"errors"
	"log"
	"os"
	"syscall"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
)

// proxy runs a memcached that passes requests on to nodes. The goroutine of proxy.run owns the fields. The HTTP server reads only view.
type proxy struct {
	options ProxyOptions
	log     *log.Logger
	signals <-chan os.Signal
	view    view
	watch   watch

	process *process
	// read holds the last valid routes from the ConfigMap. Until there are any, it holds the routes that an earlier container accepted.
	read protocol.Routes
	// routes are the last accepted routes: the addresses of their nodes have been looked up.
	routes protocol.Routes
	// count is how many nodes of each pool memcached uses, or will use after the current reload.
	count int
	// written is the text of the values file, from which the Lua program in memcached makes its routes.
	written string
	// reload is the current reload, or nil.
	reload *reload
	// known holds the addresses of nodes. The channel found receives the result of a DNS search. searching is true while a search runs.
	known     addresses
	found     chan search
	searching bool
	// searched is the text of the routes whose nodes were last looked up. swept is when the last search for all nodes began. dialed is when
	// the parent last connected to all of them.
	searched      string
	swept, dialed time.Time
	// missed has the result of the function missed for the nodes that were last looked up.
	missed map[string]string
	// reaching is since when memcached reaches a node, or zero.
	reaching time.Time
	// turn grows with each search. It selects the nodes that the next search looks up, if many nodes are unreachable.
	turn int
	// loaded and failed are the last values of memcached's counters of begun and failed reloads.
	loaded, failed int64
	// refused is why the parent refused the routes in the ConfigMap, or why memcached's last reload failed. Otherwise, it is empty.
	refused string
	// starved is since when a thread's buffers have been full, or zero.
	starved time.Time
}

// RunProxy runs a proxy until memcached ends. A signal other than SIGHUP makes RunProxy end memcached. It returns the container's exit
// code. The caller must have called runtime.LockOSThread: see the function start.
func RunProxy(ctx context.Context, o ProxyOptions, signals <-chan os.Signal, log *log.Logger) (int, error) {
	p := &proxy{options: o, log: log, signals: signals, known: o.lastKnown(), found: make(chan search, 1)}
	p.watch = newWatch(o.Memcached, o.deafAfter)
	p.view.status.Proxy = &protocol.ProxyStatus{}
	return runBeside(ctx, o.Listen, &p.view, p.watch, log, p.run)
}

func (p *proxy) run(ctx context.Context) (int, error) {
	if err := p.begin(ctx); err != nil {
		return failed(err)
	}
	return p.serve(ctx)
}

// serve follows what happens until memcached has ended.
func (p *proxy) serve(ctx context.Context) (int, error) {
	ticker := time.NewTicker(p.options.poll)
	defer ticker.Stop()
	for {
		select {
		case status := <-p.process.ended:
			p.log.Printf("memcached ended with exit code %d: %s", exitCode(status), p.process.errors)
			return exitCode(status), nil
		case signal := <-p.signals:
			if signal != syscall.SIGHUP {
				return exitCode(p.stop()), nil
			}
		case <-p.watch.deaf:
			if p.watch.stillDeaf(ctx, &p.view) {
				p.log.Print(errDeaf)
				return max(exitCode(p.stop()), 1), errDeaf
			}
		case <-p.settling():
			p.settle(ctx)
		case <-p.switching(time.Now()):
			p.change(ctx, time.Now())
		case s := <-p.found:
			p.learn(ctx, s)
		case <-ticker.C:
			p.follow(ctx, time.Now())
			p.look(ctx, time.Now())
			if err := p.watchBuffers(ctx, time.Now()); err != nil {
				return failed(err)
			}
		}
	}
}

// begin starts memcached with the routes in the ConfigMap. If they are unusable, it uses the routes that an earlier container
// accepted.
func (p *proxy) begin(ctx context.Context) error {
	routes, text, err := p.options.readRoutes()
	if err != nil {
		var before error
		if routes, before = p.options.acceptedRoutes(); before != nil {
			return err
		}
		p.refuse(text, err)
	}
	p.read = routes
	p.view.excuse(0)
	if err := p.await(ctx); err != nil {
		return err
	}
	count := routes.Pool.At(time.Now())
	p.written = p.options.valuesOf(routes, count, p.known)
	err = errors.Join(
		replaceFile(p.options.program(), string(program)),
		replaceFile(p.options.copies(), string(copiesRoute)),
		replaceFile(p.options.values(), p.written),
	)
	if err != nil {
		return err
	}
	nodes := count * len(routes.Patterns())
	if err := keepFileLimit(p.options.connectionLimit(2*nodes + backends)); err != nil {
		p.log.Printf("clients that take all connections could end the proxy: %v", err)
	}
	if p.process, err = start(p.options.Program, p.options.arguments(nodes)); err != nil {
		return err
	}
	p.view.excuse(patience(protocol.List{}))
	p.reload = &reload{first: true, sent: time.Now()}
	p.accept(routes, count)
	return nil
}

// switching returns a channel that fires when the announced number of nodes takes effect. It returns nil if no change is announced or
// due, and while a reload must end first (see the method busy).
func (p *proxy) switching(now time.Time) <-chan time.Time {
	wait := p.routes.Pool.Wait(now)
	if p.busy() || wait == 0 && p.routes.Pool.At(now) == p.count {
		return nil
	}
	return time.After(max(wait, p.options.settle)) // a failed change is tried again after a pause
}

func (p *proxy) follow(ctx context.Context, now time.Time) {
	routes, text, err := p.options.readRoutes()
	switch {
	case p.busy():
	case err != nil:
		p.refuse(text, err)
	default:
		p.forgive()
		p.read = routes
		p.change(ctx, now)
	}
}

// change applies the routes in the ConfigMap and the addresses of their nodes. It does nothing until the nodes of new routes have
// been looked up.
func (p *proxy) change(ctx context.Context, now time.Time) {
	text := p.read.String()
	if text != p.routes.String() && text != p.searched {
		return // the method learn tries again when the addresses are known
	}
	count := p.read.Pool.At(now)
	if values := p.options.valuesOf(p.read, count, p.known); values != p.written {
		if loaded, failed, err := p.reloads(ctx); err == nil {
			p.loaded, p.failed = loaded, failed // an agent's SIGHUP for a new certificate also counts as a reload
		}
		if err := replaceFile(p.options.values(), values); err != nil {
			p.log.Printf("the routes stay as they are: %v", err)
			return // the next call tries again
		}
		if count != p.count {
			p.log.Printf("leading to %d nodes instead of %d", count, p.count)
		}
		p.written, p.reload = values, &reload{}
		p.send()
	}
	p.accept(p.read, count)
}

// accept saves routes for later containers, and shows them in the status.
func (p *proxy) accept(routes protocol.Routes, count int) {
	text := routes.String()
	if text != p.routes.String() {
		if err := replaceFile(p.options.accepted(), text); err != nil {
			p.log.Printf("the routes are not remembered: %v", err)
		}
	}
	p.routes, p.count = routes, count
	p.view.update(func(v *view) {
		v.status.Proxy.Routes = text
		v.status.Proxy.Reloading = p.reload != nil
		if v.status.Proxy.Count != count || v.since.IsZero() {
			v.status.Proxy.Count, v.since = count, time.Now()
		}
	})
}

func (p *proxy) forgive() {
	if p.refused == "" {
		return
	}
	p.refused = ""
	p.view.update(func(v *view) { v.status.Proxy.Refused = nil })
}

// refuse logs and reports why routes are not accepted, unless it has just done so for the same reason.
func (p *proxy) refuse(text string, reason error) {
	if p.refused == reason.Error() {
		return
	}
	p.refused = reason.Error()
	p.log.Printf("the routes stay as they are: %v", reason)
	p.view.update(func(v *view) {
		v.status.Proxy.Refused = &protocol.RefusedRoutes{Routes: protocol.Shorten(text), Reason: reason.Error()}
	})
}
