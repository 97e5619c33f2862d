// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/example/memcached-operator/internal/agent/fill"
	"github.com/example/memcached-operator/internal/agent/protocol"
)

const (
	// settleClients is how long a fill waits after memcached has begun to serve. Proxies may need that long to find the node: DNS answers
	// are cached for 30 s with kubeadm, and proxies retry after 1 s. Until then, they store items only in the other copies of the cache.
	// An earlier fill would lack these items.
	settleClients = 35 * time.Second
	// refill is the pause before a failed fill is tried again.
	refill = 15 * time.Second
	// sourcePort is the port at which nodes serve without TLS.
	sourcePort = "11211"
	// slowestFill is the minimum speed of a fill in MiB per second. The first attempt may take one minute, plus the time to copy the whole
	// item memory (-m) at this speed.
	slowestFill = 16
)

// emptied stops the current fill, and sets the status for the next start of memcached.
func (n *node) emptied() {
	if n.stopFilling != nil {
		n.stopFilling()
		n.stopFilling = nil
	}
	n.view.update(func(v *view) {
		v.status.Fill = nil
		if n.fills() {
			v.status.Fill = &protocol.Fill{From: n.options.from(), State: protocol.FillWaiting}
		}
	})
}

// fills reports whether memcached has to get its items from another copy after a start.
func (n *node) fills() bool { return len(n.options.sources) > 0 && !n.current.InFile() }

// from returns the addresses of all sources.
func (o Options) from() string { return strings.Join(o.sources, ", ") }

// fill copies the items of another copy into memcached in the background. memcached must already serve.
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
		options: n.options, view: &n.view, log: n.log.Printf, limit: time.Minute + time.Duration(memory/slowestFill)*time.Second,
	}
	go func() {
		defer close(ended)
		safely(n.log, func() { f.run(ctx) })
	}()
}

// filler copies items into one process of memcached.
type filler struct {
	options Options
	view    *view
	log     func(format string, arguments ...any)
	// limit is how long the first attempt may take.
	limit time.Duration
}

// run waits for the time settleClients. Then it tries the fill until it succeeds or the context ends, also if DNS has no address of
// another copy: somebody may just have deleted the Service, which is then missing in DNS for some time.
func (f filler) run(ctx context.Context) {
	f.settle(ctx)
	for limit := f.limit; ctx.Err() == nil; limit = math.MaxInt64 { // later attempts need no limit, because the node is already ready
		result := f.once(ctx, limit)
		if ctx.Err() != nil {
			return
		}
		f.view.update(func(v *view) { v.status.Fill = &result })
		if result.Reason == "" {
			f.log("filled from %s in %.1f s: %d items, %d were here already, %d have no place",
				result.From, result.Seconds, result.Items, result.Present, result.Refused)
			return
		}
		f.log("serving without the items of another copy, and trying again in %s: %s", f.options.refill, result.Reason)
		select {
		case <-ctx.Done():
		case <-time.After(f.options.refill):
		}
	}
}

// settle waits for the time settleClients. Meanwhile, the node becomes ready if no other copy has an item.
func (f filler) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, f.options.settleClients)
	defer cancel()
	for slices.ContainsFunc(f.survey(ctx), func(c candidate) bool { return c.items != 0 }) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(f.options.poll):
		}
	}
	f.view.update(func(v *view) { v.status.Fill.Ready = true })
	<-ctx.Done()
}

// candidate is the address of a node of another copy, with its number of items, -1 if unknown.
type candidate struct {
	address string
	items   int64
}

// survey returns the nodes of the other copies, except those whose names do not exist: such a copy has no items. It begins with the node
// that has the most items, because one that is being filled itself has fewer.
func (f filler) survey(ctx context.Context) []candidate {
	var candidates []candidate
	known := f.options.dns.find(ctx, f.options.sources, nil)
	for _, name := range f.options.sources {
		if address, answered := known[name]; !answered || address.IsValid() {
			source := net.JoinHostPort(name, sourcePort)
			candidates = append(candidates, candidate{source, count(ctx, source, protocol.List{})})
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(b.items, a.items) })
	return candidates
}

// once tries the candidates one by one, and gives up after the time limit. If it copies from none, the result has the reasons.
func (f filler) once(ctx context.Context, limit time.Duration) protocol.Fill {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %s", limit))
	defer cancel()
	status := protocol.Fill{From: f.options.from(), State: protocol.FillDone}
	candidates := f.survey(ctx)
	if len(candidates) == 0 {
		status.Reason = "there is no other copy: DNS has no address of " + status.From
		return status
	}
	unknown := candidates[len(candidates)-1].items < 0
	var errs []error
	for _, c := range candidates {
		if c.items == 0 && (unknown || len(errs) > 0) {
			continue // another copy may have items
		}
		result, err := f.copyFrom(ctx, c.address)
		if err == nil {
			return result
		}
		status, errs = result, append(errs, err)
	}
	status.From, status.State, status.Reason = f.options.from(), protocol.FillFailed, shortened(steady(errors.Join(errs...)))
	return status
}

// copyFrom copies the items of the memcached at an address.
func (f filler) copyFrom(ctx context.Context, address string) (protocol.Fill, error) {
	began, status := time.Now(), protocol.Fill{From: address, State: protocol.FillCopying}
	report := func(result fill.Result) {
		status.Items, status.Bytes, status.Present, status.Refused = result.Items, result.Bytes, result.Present, result.Refused
		status.Seconds = time.Since(began).Seconds()
		f.view.update(func(v *view) {
			if v.status.Fill.Open() { // later attempts show only their result
				progress := status
				progress.Ready, v.status.Fill = v.status.Fill.Ready, &progress
			}
		})
	}
	result, err := fill.Copy{Source: address, Destination: f.options.Memcached, Progress: report}.Run(ctx)
	report(result)
	status.State = protocol.FillDone
	return status, err
}

// localAddress matches the local address in a network error. The local port differs in each attempt.
var localAddress = regexp.MustCompile(`\S+->`)

// steady returns the text of an error in one line and without local addresses. So an attempt that fails for the same reason as the last
// one does not change the status.
func steady(err error) string {
	return strings.ReplaceAll(localAddress.ReplaceAllString(err.Error(), ""), "\n", "; ")
}

// shortened cuts a reason to maxReason bytes, to keep the status small.
func shortened(reason string) string { return reason[:min(len(reason), maxReason)] }
