// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"errors"
	"fmt"
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

// Limits of DNS requests. The parent looks up unreachable nodes every second. It looks up all N nodes every sweepInterval, or
// every N*sweepPerNode if that is longer.
const (
	sweepInterval, sweepPerNode = 30 * time.Second, time.Second / 2
	// dialTimeout limits the time of a connection to a node, as memcached does (see routes.lua).
	dialTimeout = time.Second / 2
	// lookupsAtOnce limits the concurrent lookups, and the unreachable nodes in one search.
	lookupsAtOnce = 16
	// lookupTimeout limits the time of a whole search.
	lookupTimeout = 2 * time.Second
)

// search is the result of a DNS search for the nodes of routes. text is the text of these routes. missed is the result of the function
// missed before the search.
type search struct {
	text   string
	found  addresses
	missed map[string]string
}

// look starts a DNS search in the background, unless one is running. The search is for all nodes of p.read if the routes are new, or if
// the last search for all nodes is long enough ago. Otherwise, it is only for unreachable nodes.
func (p *proxy) look(ctx context.Context, now time.Time) {
	if p.searching {
		return
	}
	names, text, known, before := namesOf(p.read), p.read.String(), maps.Clone(p.known), p.missed
	all := text != p.searched || now.Sub(p.swept) >= max(sweepInterval, time.Duration(len(names))*sweepPerNode)
	if all {
		p.swept = now
	}
	if now.Sub(p.dialed) >= p.options.dial {
		p.dialed, before = now, nil
	}
	p.searching, p.turn = true, p.turn+lookupsAtOnce
	turn := p.turn
	go func() {
		result := search{text: text}
		safely(p.log, func() {
			result.missed = p.options.missed(ctx, names, known, before)
			if !all {
				names = inTurn(slices.DeleteFunc(names, func(name string) bool { return result.missed[name] == "" }), turn)
			}
			result.found = p.options.dns.find(ctx, names, known)
		})
		p.found <- result
	}()
}

func (p *proxy) learn(ctx context.Context, s search) {
	p.searching, p.searched = false, s.text
	p.merge(s.found)
	if p.missed = s.missed; s.text == p.routes.String() && s.missed != nil {
		p.judge(p.routes.Names(p.count), time.Now())
	}
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
	p.missed = map[string]string{}
	for told := false; ; told = true {
		missing = slices.DeleteFunc(missing, knows)
		p.merge(p.options.dns.find(ctx, missing, nil))
		if !slices.ContainsFunc(missing, func(name string) bool { return !knows(name) }) {
			return nil
		}
		if !told {
			p.log.Print("waiting for DNS to know the nodes")
		}
		for _, name := range missing {
			p.missed[name] = noAnswer
		}
		p.judge(missing, time.Now())
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

// missed returns for each name why memcached cannot use the node, or an empty text. memcached notices only at a request that a node is cut
// off, so missed also connects to each node, except those that memcached could use at the time of the result before.
func (o ProxyOptions) missed(ctx context.Context, names []string, known addresses, before map[string]string) map[string]string {
	var bad map[string]string
	_ = ask(ctx, o.Memcached, protocol.List{}, func(ctx context.Context, conn *memcache.Conn) (err error) {
		bad, err = conn.Stats(ctx, "proxybe") // without an answer, the connections below tell
		return err
	})
	return forEach(names, func(name string) (string, error) {
		address, answered := known[name]
		target := net.JoinHostPort(address.String(), "11211")
		why, looked := before[name]
		switch {
		case !answered:
			return noAnswer, nil
		case !address.IsValid():
			return "DNS has no address", nil
		case bad[badStat(name)] != "":
			return "no answer from " + target, nil
		case bad != nil && looked && why == "":
			return "", nil
		}
		return unreachable(ctx, target), nil
	})
}

// unreachable returns why nobody accepts a connection at an address, or an empty text.
func unreachable(ctx context.Context, target string) string {
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", target)
	if err != nil {
		return err.Error()
	}
	_ = conn.Close()
	return ""
}

// noAnswer is the usual result of a NetworkPolicy that limits the egress of proxies.
const noAnswer = "no answer from DNS, port 53"

// judge reports which of the names are missed, and decides whether clients may use the proxy: see protocol.ReadyPath.
func (p *proxy) judge(names []string, now time.Time) {
	var lost []string
	for _, name := range names {
		if why := p.missed[name]; why != "" {
			lost = append(lost, fmt.Sprintf("%s (%s)", name, why))
		}
	}
	none, text := len(lost) == len(names), ""
	switch {
	case none:
		p.reaching = time.Time{}
	case p.reaching.IsZero():
		p.reaching = now
	}
	switch {
	case len(names) == 0:
		text = "nodes: its pools have none"
	case len(lost) > 0:
		text = fmt.Sprintf("%d of %d nodes: %s", len(lost), len(names), strings.Join(lost[:min(len(lost), 3)], ", "))
	}
	p.view.update(func(v *view) {
		v.status.Proxy.Missed = text
		v.reaches = !none && (v.reaches || len(lost) == 0 || now.Sub(p.reaching) >= p.options.others)
	})
}

// badStat returns the name of memcached's statistic that counts the threads that cannot reach a node. memcached cuts off the
// statistic's name after 126 characters.
func badStat(name string) string {
	stat := "bad_" + name
	return stat[:min(len(stat), 126)]
}

// resolver looks up the names of nodes. config is the file with the DNS search list.
type resolver struct {
	client *net.Resolver
	config string
}

// strictly counts a partial answer as a failure. Otherwise, a name could seem not to exist.
var strictly = resolver{client: &net.Resolver{PreferGo: true, StrictErrors: true}, config: "/etc/resolv.conf"}

// addresses maps the names of nodes to their IP addresses. An invalid address means that DNS has no address for the name. A missing
// entry means that DNS has not answered yet.
type addresses map[string]netip.Addr

// find looks up the addresses of names. If a name has several addresses, find prefers the address in known. The result leaves out names
// for which DNS does not answer.
func (r resolver) find(ctx context.Context, names []string, known addresses) addresses {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	suffixes := r.searchList()
	return forEach(names, func(name string) (netip.Addr, error) { return r.lookup(ctx, hostOf(name, suffixes), known[name]) })
}

// forEach calls the function for all names, lookupsAtOnce at a time. It returns the results without an error.
func forEach[T any](names []string, do func(string) (T, error)) map[string]T {
	var mutex sync.Mutex
	var running sync.WaitGroup
	results, slots := map[string]T{}, make(chan struct{}, lookupsAtOnce)
	for _, name := range names {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			result, err := do(name)
			mutex.Lock()
			defer mutex.Unlock()
			if err == nil {
				results[name] = result
			}
		})
	}
	running.Wait()
	return results
}

// lookup returns the address of a host, or an invalid address if the host has none. Of several addresses, it prefers former. If DNS
// does not answer, it returns an error.
func (r resolver) lookup(ctx context.Context, host string, former netip.Addr) (netip.Addr, error) {
	answers, err := r.client.LookupNetIP(ctx, "ip", host)
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
func (r resolver) searchList() []string {
	text, err := os.ReadFile(r.config)
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
