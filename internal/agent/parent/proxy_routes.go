// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	_ "embed"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/example/memcached-operator/internal/agent/protocol"
)

// program is the Lua program that makes memcached's routes from the values file.
//
//go:embed routes.lua
var program []byte

// copiesRoute is the Lua code for routes to several pools with the same items.
//
//go:embed copies.lua
var copiesRoute []byte

// readRoutes returns the routes in the ConfigMap and their text. The text is returned even if it is invalid.
func (o ProxyOptions) readRoutes() (protocol.Routes, string, error) {
	text, err := os.ReadFile(filepath.Join(o.Routes, protocol.RoutesKey))
	if err != nil {
		return protocol.Routes{}, "", err
	}
	routes, err := protocol.ParseRoutes(string(text))
	if err == nil {
		err = o.checkNamespace(routes)
	}
	return routes, string(text), err
}

// checkNamespace refuses routes to nodes outside the pod's namespace: whoever may write the ConfigMap could otherwise send the clients
// elsewhere. The kubelet begins the DNS search list with NAMESPACE.svc.DOMAIN.
func (o ProxyOptions) checkNamespace(routes protocol.Routes) error {
	namespace, _, found := strings.Cut(strings.Join(o.dns.searchList(), " "), ".svc.")
	for _, pattern := range routes.Patterns() {
		if found && !strings.HasSuffix(pattern, "."+namespace+".svc") {
			return fmt.Errorf("%w: the nodes %s are not in the namespace %s", protocol.ErrNotOurs, protocol.Shorten(pattern), namespace)
		}
	}
	return nil
}

// acceptedRoutes returns the routes that an earlier container accepted.
func (o ProxyOptions) acceptedRoutes() (protocol.Routes, error) {
	text, err := os.ReadFile(o.accepted())
	if err != nil {
		return protocol.Routes{}, err
	}
	return protocol.ParseRoutes(string(text))
}

// valuesOf returns the text of the values file. It leaves out nodes without an address: the Lua program treats them as unreachable.
func (o ProxyOptions) valuesOf(routes protocol.Routes, count int, known addresses) string {
	var text strings.Builder
	fmt.Fprintf(&text, "count %d\nbuffers %d\nrequests %d\n", count, o.Threads*buffersPerThread, o.requests())
	for i, pattern := range routes.Patterns() {
		fmt.Fprintf(&text, "name%d %s\n", i+1, pattern)
	}
	for _, name := range routes.Names(count) {
		if address := known[name]; address.IsValid() {
			fmt.Fprintf(&text, "%s %s\n", name, address)
		}
	}
	return text.String()
}

// lastKnown returns the addresses in the values file of an earlier container.
func (o ProxyOptions) lastKnown() addresses {
	known := addresses{}
	text, err := os.ReadFile(o.values())
	if err != nil {
		return known
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if address, err := netip.ParseAddr(value); err == nil {
			known[name] = address
		}
	}
	return known
}

// buffersPerThread limits the responses that clients have not read yet, in KiB for each thread. In memcached, these responses take up
// to twice this amount of memory.
const buffersPerThread = 16 << 10
