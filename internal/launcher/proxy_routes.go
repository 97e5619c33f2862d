// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// program makes routes for memcached from values.
//
//go:embed routes.lua
var program []byte

// copiesRoute is the route of that program to pools that are copies of each other.
//
//go:embed copies.lua
var copiesRoute []byte

// readRoutes returns the routes that the ConfigMap has, and their text, which may be that of an error.
func (o ProxyOptions) readRoutes() (protocol.Routes, string, error) {
	text, err := os.ReadFile(filepath.Join(o.Routes, protocol.RoutesKey))
	if err != nil {
		return protocol.Routes{}, "", err
	}
	routes, err := protocol.ParseRoutes(string(text))
	return routes, string(text), err
}

// acceptedRoutes returns the routes that a former container has accepted.
func (o ProxyOptions) acceptedRoutes() (protocol.Routes, error) {
	text, err := os.ReadFile(o.accepted())
	if err != nil {
		return protocol.Routes{}, err
	}
	return protocol.ParseRoutes(string(text))
}

// writeValues writes the file that the program reads.
func (o ProxyOptions) writeValues(patterns []string, domain string, count int) error {
	var values strings.Builder
	fmt.Fprintf(&values, "count %d\nbuffers %d\n", count, o.Threads*buffersPerThread)
	for i, pattern := range patterns {
		host := pattern
		if domain != "" && strings.HasSuffix(pattern, ".svc") {
			host += "." + domain + "."
		}
		fmt.Fprintf(&values, "name%d %s\nhost%d %s\n", i+1, pattern, i+1, host)
	}
	return replaceFile(o.values(), values.String())
}

// buffersPerThread is how much of what clients have not read yet a thread of memcached holds, in KiB. In memory, it takes twice as much.
const buffersPerThread = 16 << 10

// replaceFile replaces a file at once, so that a reader never finds half of it.
func replaceFile(file, text string) error {
	return errors.Join(os.WriteFile(file+".new", []byte(text), 0o600), os.Rename(file+".new", file))
}

// domain is that of the cluster, empty if it is not known: the kubelet writes svc.DOMAIN into the search list of pods.
func (o ProxyOptions) domain() string {
	text, err := os.ReadFile(o.resolver)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "search" {
			continue
		}
		for _, suffix := range words[1:] {
			if domain, found := strings.CutPrefix(suffix, "svc."); found {
				return strings.TrimSuffix(domain, ".")
			}
		}
	}
	return ""
}
