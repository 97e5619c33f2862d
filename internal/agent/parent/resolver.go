// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

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

const (
	// lookupsAtOnce limits the concurrent lookups, and the unreachable nodes in one search.
	lookupsAtOnce = 16
	// lookupTimeout limits the time of a whole search.
	lookupTimeout = 2 * time.Second
)

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
