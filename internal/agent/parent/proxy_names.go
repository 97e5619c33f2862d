// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcache"
)

// addresses maps the names of nodes to their IP addresses. An invalid address means that DNS has no address for the name. A missing
// entry means that DNS has not answered yet.
type addresses map[string]netip.Addr

// Limits of DNS requests. The parent looks up unreachable nodes every second. It looks up all N nodes every sweepInterval, or
// every N*sweepPerNode if that is longer.
const (
	sweepInterval, sweepPerNode = 30 * time.Second, time.Second / 2
	// lookupsAtOnce limits the concurrent lookups, and the unreachable nodes in one search.
	lookupsAtOnce = 16
	// lookupTimeout limits the time of a whole search.
	lookupTimeout = 2 * time.Second
)

// search is the result of a DNS search for the nodes of routes. text is the text of these routes.
type search struct {
	text  string
	found addresses
}

// look starts a DNS search in the background, unless one is running. The search is for all nodes of p.read if the routes are new, or if
// the last search for all nodes is long enough ago. Otherwise, it is only for unreachable nodes.
func (p *proxy) look(ctx context.Context, now time.Time) {
	if p.searching {
		return
	}
	names, text, known := namesOf(p.read), p.read.String(), maps.Clone(p.known)
	all := text != p.searched || now.Sub(p.swept) >= max(sweepInterval, time.Duration(len(names))*sweepPerNode)
	if all {
		p.swept = now
	}
	p.searching, p.turn = true, p.turn+lookupsAtOnce
	turn := p.turn
	go func() {
		if !all {
			names = inTurn(p.options.away(ctx, names, known), turn)
		}
		result := search{text: text}
		safely(p.log, func() { result.found = p.options.find(ctx, names, known) })
		p.found <- result
	}()
}

func (p *proxy) learn(ctx context.Context, s search) {
	p.searching, p.searched = false, s.text
	p.merge(s.found)
	if p.busy() {
		return
	}
	p.change(ctx, time.Now())
}

func (p *proxy) merge(found addresses) {
	for _, name := range slices.Sorted(maps.Keys(found)) {
		before, known := p.known[name]
		switch after := found[name]; {
		case !known || after == before:
		case after.IsValid():
			p.log.Printf("%s is at %s", name, after)
		default:
			p.log.Printf("%s is away: it was at %s", name, before)
		}
		p.known[name] = found[name]
	}
}

// await waits until DNS has answered for each node whose address is not known from an earlier container. The answer may be that the name
// does not exist. Until then, the proxy must not become ready, because it would give its clients only misses and errors.
func (p *proxy) await(ctx context.Context) error {
	knows := func(name string) bool {
		_, known := p.known[name]
		return known
	}
	missing := namesOf(p.read)
	for told := false; ; told = true {
		missing = slices.DeleteFunc(missing, knows)
		p.merge(p.options.find(ctx, missing, nil))
		if !slices.ContainsFunc(missing, func(name string) bool { return !knows(name) }) {
			return nil
		}
		if !told {
			p.log.Print("waiting for DNS to know the nodes")
		}
		select {
		case signal := <-p.signals:
			if signal != syscall.SIGHUP {
				return errEnded
			}
		case <-time.After(p.options.poll):
		}
	}
}

// namesOf returns the names of the nodes in routes, including the nodes that an announced larger number (Pool.Next) adds.
func namesOf(routes protocol.Routes) []string {
	count := routes.Pool.Count
	if next := routes.Pool.Next; next != nil {
		count = max(count, next.Count)
	}
	return routes.Names(count)
}

// inTurn returns at most lookupsAtOnce names. It begins at the position turn, modulo the number of names, and wraps around at the end.
func inTurn(names []string, turn int) []string {
	if len(names) <= lookupsAtOnce {
		return names
	}
	begin := turn % len(names)
	return slices.Concat(names[begin:], names[:begin])[:lookupsAtOnce]
}

// away returns the names of nodes that memcached cannot reach, and of nodes whose address is unknown. If memcached does not answer,
// away returns all names.
func (o ProxyOptions) away(ctx context.Context, names []string, known addresses) []string {
	var bad map[string]string
	err := ask(ctx, o.Memcached, protocol.List{}, func(ctx context.Context, conn *memcache.Conn) (err error) {
		bad, err = conn.Stats(ctx, "proxybe")
		return err
	})
	return slices.DeleteFunc(names, func(name string) bool {
		return err == nil && known[name].IsValid() && bad[badStat(name)] == ""
	})
}

// badStat returns the name of memcached's statistic that counts the threads that cannot reach a node. memcached cuts off the
// statistic's name after 126 characters.
func badStat(name string) string {
	stat := "bad_" + name
	return stat[:min(len(stat), 126)]
}

// find looks up the addresses of names. If a name has several addresses, find prefers the address in known. The result leaves out names
// for which DNS does not answer.
func (o ProxyOptions) find(ctx context.Context, names []string, known addresses) addresses {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	var mutex sync.Mutex
	var looking sync.WaitGroup
	found, slots, suffixes := addresses{}, make(chan struct{}, lookupsAtOnce), o.searchList()
	for _, name := range names {
		slots <- struct{}{}
		looking.Go(func() {
			defer func() { <-slots }()
			address, err := o.lookup(ctx, hostOf(name, suffixes), known[name])
			mutex.Lock()
			defer mutex.Unlock()
			if err == nil {
				found[name] = address
			}
		})
	}
	looking.Wait()
	return found
}

// lookup returns the address of a host, or an invalid address if the host has none. Of several addresses, it prefers former. If DNS
// does not answer, it returns an error.
func (o ProxyOptions) lookup(ctx context.Context, host string, former netip.Addr) (netip.Addr, error) {
	answers, err := o.dns.LookupNetIP(ctx, "ip", host)
	var failure *net.DNSError
	switch {
	case errors.As(err, &failure) && failure.IsNotFound:
		return netip.Addr{}, nil
	case err != nil:
		return netip.Addr{}, err
	case slices.Contains(answers, former):
		return former, nil
	default:
		return answers[0].Unmap(), nil
	}
}

// hostOf returns the name to look up for a node. It appends the cluster's domain, so that the resolver does not try the other
// suffixes of its search list first. The kubelet writes NAMESPACE.svc.DOMAIN into this list, and the name of a node ends with
// NAMESPACE.svc. The name remains as it is if the list has no such suffix.
func hostOf(name string, suffixes []string) string {
	for _, suffix := range suffixes {
		namespace, domain, found := strings.Cut(suffix, ".svc.")
		if found && strings.HasSuffix(name, "."+namespace+".svc") {
			return name + "." + strings.TrimSuffix(domain, ".") + "."
		}
	}
	return name
}

// searchList returns the suffixes that the resolver tries, or nil if they are unknown.
func (o ProxyOptions) searchList() []string {
	text, err := os.ReadFile(o.resolver)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 0 && words[0] == "search" {
			return words[1:]
		}
	}
	return nil
}
