// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/example/memcached-operator/internal/launcher/fill"
	"github.com/example/memcached-operator/internal/launcher/protocol"
)

const (
	// settleClients is how long proxies may take to find a node that has started: as long as answers of DNS are cached (30 s in clusters of
	// kubeadm) and until they retry (1 s), with a reserve. A copy that began earlier would miss items that they still store in the twin
	// alone.
	settleClients = 35 * time.Second
	// refill is when a node that serves without the items of its twin tries again.
	refill = 15 * time.Second
	// twinPort is the port of the twin's nodes without TLS.
	twinPort = "11211"
	// slowestFill is how many MiB a second a copy must achieve. It has a minute on top.
	slowestFill = 16
)

var (
	errNoTwin     = errors.New("its twin has no node of this number")
	errFillLimit  = errors.New("it took too long")
	errUnreadable = errors.New("the name of its twin cannot be read")
)

// emptied notes that memcached is about to start, and without items unless it keeps them in a file. A node with a twin is not ready until
// it has the twin's items or has failed to get them.
func (l *launcher) emptied() {
	if l.stopFilling != nil {
		l.stopFilling()
		l.stopFilling = nil
	}
	twin, found, err := l.source.twin()
	l.view.update(func(v *view) {
		v.status.Fill = nil
		switch {
		case l.list.InFile():
		case found:
			v.status.Fill = &protocol.Fill{From: l.options.twin(twin), State: protocol.FillWaiting}
		case err != nil: // the copy reports it
			v.status.Fill = &protocol.Fill{State: protocol.FillWaiting}
		}
	})
}

// fill copies the items of the twin into memcached, which has begun to serve, while the loop goes on.
func (l *launcher) fill(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	l.stopFilling = func() {
		cancel()
		<-ended
	}
	memory, err := strconv.ParseInt(l.list.Value("-m"), 10, 64)
	if err != nil {
		memory = 0
	}
	f := filler{
		source: source{folder: l.source.folder}, options: l.options, view: &l.view, log: l.log.Printf,
		limit: time.Minute + time.Duration(memory/slowestFill)*time.Second,
	}
	go func() {
		defer close(ended)
		if l.view.unready() != nil {
			f.run(ctx)
		}
	}()
}

// filler fills one process of memcached.
type filler struct {
	source  source
	options Options
	view    *view
	log     func(format string, arguments ...any)
	limit   time.Duration
}

// run waits until clients know memcached, and then tries until it succeeds.
func (f filler) run(ctx context.Context) {
	for wait := f.options.settleClients; ; wait = f.options.refill {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		result, err := f.once(ctx)
		if ctx.Err() != nil {
			return
		}
		f.view.update(func(v *view) { v.status.Fill = result })
		switch {
		case result == nil:
			return
		case err == nil:
			f.log("filled from %s in %.1f s: %d items, %d were here already, %d have no place",
				result.From, result.Seconds, result.Items, result.Present, result.Refused)
			return
		}
		f.log("serving without the items of the twin, and trying again in %s: %s", f.options.refill, result.Reason)
	}
}

// once copies the items of the twin. The result contains the error as well; it is nil if there is no twin any more.
func (f filler) once(ctx context.Context) (*protocol.Fill, error) {
	began := time.Now()
	twin, found, err := f.source.twin()
	switch {
	case err != nil:
		err = errors.Join(errUnreadable, err)
	case !found: // the spec has changed
		return nil, nil
	case f.options.Ordinal >= twin.Size:
		err = fmt.Errorf("%w: %s has %d nodes", errNoTwin, twin.Name, twin.Size)
	}
	status := protocol.Fill{From: f.options.twin(twin), State: protocol.FillCopying}
	report := func(result fill.Result) {
		status.Items, status.Bytes, status.Present, status.Refused = result.Items, result.Bytes, result.Present, result.Refused
		status.Seconds = time.Since(began).Seconds()
		f.report(status)
	}
	if err == nil {
		var result fill.Result
		ctx, cancel := context.WithTimeoutCause(ctx, f.limit, fmt.Errorf("%w: %s", errFillLimit, f.limit))
		defer cancel()
		result, err = fill.Copy{Source: status.From, Destination: f.options.Memcached, Progress: report}.Run(ctx)
		report(result)
	}
	status.State = protocol.FillDone
	if err != nil {
		status.State, status.Reason = protocol.FillFailed, shortened(err.Error())
	}
	return &status, err
}

// report shows progress, unless the node serves already without the items of its twin.
func (f filler) report(status protocol.Fill) {
	f.view.update(func(v *view) {
		if v.status.Fill.Open() {
			v.status.Fill = &status
		}
	})
}

// shortened is the beginning of a reason: a status is small.
func shortened(reason string) string { return reason[:min(len(reason), maxReason)] }
