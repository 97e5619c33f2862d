// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/example/memcached-operator/internal/agent/fill"
	"github.com/example/memcached-operator/internal/agent/protocol"
)

const (
	// settleClients is how long a copy from the twin (the Memcached in spec.fillFrom) waits after memcached has begun to serve. Proxies
	// may need that long to find the node: DNS answers are cached for 30 s with kubeadm, and proxies retry after 1 s. Until then, they
	// store items only in the twin. If the copy ran earlier, the node would lack the items that proxies store in the twin after the copy.
	settleClients = 35 * time.Second
	// refill is the pause before a failed copy is tried again.
	refill = 15 * time.Second
	// twinPort is the port at which the twin's nodes serve without TLS.
	twinPort = "11211"
	// slowestFill is the minimum speed of a copy in MiB per second. The first attempt may take one minute, plus the time to copy the whole
	// item memory (-m) at this speed.
	slowestFill = 16
)

var (
	errNoTwin     = errors.New("its twin has no node of this number")
	errFillLimit  = errors.New("it took too long")
	errUnreadable = errors.New("the name of its twin cannot be read")
)

// emptied stops the current copy, and sets the status for the next start of memcached. If memcached keeps its items in memory and
// spec.fillFrom names a twin, the node is not ready before its first copy has succeeded or failed.
func (n *node) emptied() {
	if n.stopFilling != nil {
		n.stopFilling()
		n.stopFilling = nil
	}
	twin, found, err := n.source.twin()
	n.view.update(func(v *view) {
		v.status.Fill = nil
		switch {
		case n.current.InFile():
		case found:
			v.status.Fill = &protocol.Fill{From: n.options.twin(twin), State: protocol.FillWaiting}
		case err != nil: // the copy reports this error
			v.status.Fill = &protocol.Fill{State: protocol.FillWaiting}
		}
	})
}

// fill copies the twin's items into memcached in the background, if the node's status says that it waits for them. memcached must
// already serve.
func (n *node) fill(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	n.stopFilling = func() {
		cancel()
		<-ended
	}
	memory, err := strconv.ParseInt(n.current.Value("-m"), 10, 64)
	if err != nil {
		memory = 0
	}
	f := filler{
		source: source{folder: n.source.folder}, options: n.options, view: &n.view, log: n.log.Printf,
		limit: time.Minute + time.Duration(memory/slowestFill)*time.Second,
	}
	go func() {
		defer close(ended)
		if n.view.fills() {
			safely(n.log, func() { f.run(ctx) })
		}
	}()
}

// filler copies items into one process of memcached.
type filler struct {
	source  source
	options Options
	view    *view
	log     func(format string, arguments ...any)
	// limit is how long the first attempt may take.
	limit time.Duration
}

// run waits for the time settleClients. Then it tries the copy until the copy succeeds, the context ends, or the ConfigMap names no twin.
func (f filler) run(ctx context.Context) {
	limit := f.limit
	for wait := f.options.settleClients; ; wait, limit = f.options.refill, unlimited {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		result, err := f.once(ctx, limit)
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

// unlimited is the time limit of attempts after the first one. They need no limit, because the node is already ready.
const unlimited = math.MaxInt64

// once tries to copy the twin's items, and gives up after the time limit. If it fails, the result also contains the reason. Without a
// twin, the result is nil.
func (f filler) once(ctx context.Context, limit time.Duration) (*protocol.Fill, error) {
	began := time.Now()
	twin, found, err := f.source.twin()
	switch {
	case err != nil:
		err = errors.Join(errUnreadable, err)
	case !found:
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
		ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: %s", errFillLimit, limit))
		defer cancel()
		result, err = fill.Copy{Source: status.From, Destination: f.options.Memcached, Progress: report}.Run(ctx)
		report(result)
	}
	status.State = protocol.FillDone
	if err != nil {
		status.State, status.Reason = protocol.FillFailed, shortened(steady(err))
	}
	return &status, err
}

// report shows the progress of a copy in the status, until the node is ready. Later attempts show only their result.
func (f filler) report(status protocol.Fill) {
	f.view.update(func(v *view) {
		if v.status.Fill.Open() {
			v.status.Fill = &status
		}
	})
}

// localAddress matches the local address in a network error. The local port differs in each attempt.
var localAddress = regexp.MustCompile(`\S+->`)

// steady removes local addresses from the text of an error. So an attempt that fails for the same reason as the last one does not
// change the status.
func steady(err error) string { return localAddress.ReplaceAllString(err.Error(), "") }

// shortened cuts a reason to maxReason bytes, to keep the status small.
func shortened(reason string) string { return reason[:min(len(reason), maxReason)] }
