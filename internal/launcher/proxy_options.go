// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// ProxyOptions are the launcher's flags in the container of a proxy.
type ProxyOptions struct {
	// Routes is the folder of the ConfigMap with the routes.
	Routes string
	// State is the folder with what memcached reads, and what must outlive the container.
	State string
	// Listen is the address of the launcher's own HTTP server, and Memcached that of memcached.
	Listen, Memcached string
	// Program is memcached.
	Program string
	// Threads is how many worker threads memcached has, MaxConnections how many connections its clients can have.
	Threads, MaxConnections int
	// resolver is the file that says in which domain the names of the nodes are, and dns is how they are looked up.
	resolver string
	dns      *net.Resolver
	// poll is how often the launcher looks at the ConfigMap and for nodes that are away, settle at memcached while that reads its routes, and resend how often it
	// asks for that. After confirm, it has succeeded.
	poll, settle, resend, confirm time.Duration
}

// ParseProxy reads the flags.
func ParseProxy(args []string, output io.Writer) (ProxyOptions, error) {
	o := ProxyOptions{
		resolver: "/etc/resolv.conf", dns: &net.Resolver{PreferGo: true, StrictErrors: true}, // half of an answer is none
		poll: time.Second, settle: settlePoll, resend: 5 * time.Second, confirm: time.Second,
	}
	flags := flag.NewFlagSet("launcher proxy", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&o.Routes, "routes", "/etc/memcached", "the `folder` with the routes")
	flags.StringVar(&o.State, "state", "/run/launcher", "the `folder` in which the launcher keeps what must outlive the container")
	flags.StringVar(&o.Listen, "listen", ":9151", "the `address` of the launcher's HTTP server")
	flags.StringVar(&o.Memcached, "memcached", "127.0.0.1:11211", "the `address` of memcached")
	flags.StringVar(&o.Program, "program", "memcached", "the `command` that the launcher starts")
	flags.IntVar(&o.Threads, "threads", 4, "the `number` of memcached's worker threads")
	flags.IntVar(&o.MaxConnections, "max-connections", 1024, "the `number` of connections that clients can have")
	if err := flags.Parse(args); err != nil {
		return ProxyOptions{}, errors.Join(ErrUsage, err)
	}
	if flags.NArg() > 0 || o.Threads < 1 || o.Threads > 64 || o.MaxConnections < 1 || o.MaxConnections > 65536 {
		return ProxyOptions{}, errors.Join(ErrUsage, errors.New("--threads must be 1 to 64, --max-connections 1 to 65536, and nothing follows"))
	}
	return o, nil
}

const (
	// ownConnections is what memcached keeps of its file descriptors for itself, and ownPerThread for each thread.
	ownConnections, ownPerThread = 9, 5
	// backends is for how many nodes each thread has a file descriptor, at least. memcached counts them as those of clients, but for its
	// limit of connections.
	backends = 64
)

// connectionLimit is memcached's -c, with which it also limits its file descriptors: each thread has a connection to each node.
func (o ProxyOptions) connectionLimit(nodes int) int {
	reserved := (nodes + backends) / backends * backends
	return o.MaxConnections + ownConnections + o.Threads*(ownPerThread+reserved)
}

// arguments are those of memcached. It stores nothing but the stubs of meta commands that ask for one while a node is away.
func (o ProxyOptions) arguments(nodes int) protocol.List {
	return protocol.List{Arguments: []string{
		"-p", "11211", "-U", "0", "-m", "8", "-c", strconv.Itoa(o.connectionLimit(nodes)), "-t", strconv.Itoa(o.Threads),
		"-o", fmt.Sprintf("proxy_config=routelib:%s,proxy_arg=%s", o.copies(), o.program()),
	}}
}

// program is the file with the routes' program, copies that with its route to copies, values that with the values for it, and accepted that
// with the text from which they were made.
func (o ProxyOptions) program() string  { return filepath.Join(o.State, "routes.lua") }
func (o ProxyOptions) copies() string   { return filepath.Join(o.State, "copies.lua") }
func (o ProxyOptions) values() string   { return filepath.Join(o.State, "routes.values") }
func (o ProxyOptions) accepted() string { return filepath.Join(o.State, "routes.accepted") }
