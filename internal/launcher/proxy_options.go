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
	"strings"
	"time"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// ProxyOptions are the launcher's flags in the container of a proxy.
type ProxyOptions struct {
	// Routes is the directory of the ConfigMap with the routes.
	Routes string
	// State is the directory for files that memcached reads, and for what must outlive the container.
	State string
	// Listen is the address of the launcher's own HTTP server. Memcached is memcached's address.
	Listen, Memcached string
	// Program is the path of memcached.
	Program string
	// TLS is the lowest TLS version for clients, 1.2 or 1.3, or empty without TLS. ClientCA reports that clients need a
	// certificate, and Plaintext that they may also connect without TLS.
	TLS                 string
	ClientCA, Plaintext bool
	// Agent reports that an agent also connects to memcached.
	Agent bool
	// Threads is the number of memcached's worker threads. MaxConnections is how many connections clients can have at least.
	Threads, MaxConnections int
	// tlsListen is where memcached serves TLS. An agent puts the certificate into the directory pair.
	tlsListen, pair string
	// resolver is the file with the DNS search list, and dns looks up names.
	resolver string
	dns      *net.Resolver
	// poll is how often the launcher reads the ConfigMap and looks up absent nodes. settle is how often it asks memcached whether
	// new routes were read. If no reload begins within resend, it signals again. A reload that has begun and does not fail within
	// confirm counts as successful.
	poll, settle, resend, confirm time.Duration
}

// ParseProxy parses the flags.
func ParseProxy(args []string, output io.Writer) (ProxyOptions, error) {
	o := ProxyOptions{
		tlsListen: "*:11212", pair: "/run/memcached/current",
		resolver: "/etc/resolv.conf", dns: &net.Resolver{PreferGo: true, StrictErrors: true}, // a partial answer counts as a failure
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
	flags.StringVar(&o.TLS, "tls", "", "the lowest `version` of TLS that clients may use, 1.2 or 1.3; without it, they use none")
	flags.BoolVar(&o.ClientCA, "client-ca", false, "with TLS, clients need a certificate")
	flags.BoolVar(&o.Plaintext, "plaintext", false, "with TLS, clients may also connect without it")
	flags.BoolVar(&o.Agent, "agent", false, "an agent asks memcached as well")
	if err := flags.Parse(args); err != nil {
		return ProxyOptions{}, errors.Join(ErrUsage, err)
	}
	if _, known := tlsVersions[o.TLS]; !known || o.TLS == "" && (o.ClientCA || o.Plaintext) {
		return ProxyOptions{}, errors.Join(ErrUsage, errors.New("--tls must be 1.2 or 1.3, and --client-ca and --plaintext need it"))
	}
	if flags.NArg() > 0 || o.Threads < 1 || o.Threads > 64 || o.MaxConnections < 1 || o.MaxConnections > 65536 {
		return ProxyOptions{}, errors.Join(ErrUsage, errors.New("--threads must be 1 to 64, --max-connections 1 to 65536, and nothing follows"))
	}
	return o, nil
}

const (
	// ownConnections is the number of file descriptors that memcached itself needs, and ownPerThread is the number for each thread.
	ownConnections, ownPerThread = 9, 5
	// agentConnections is for an agent's connections. tlsConnections is for the TLS listeners and a handshake of the agent.
	agentConnections, tlsConnections = 4, 3
	// backends is the least number of nodes for which each thread has file descriptors. A connection to a node counts as an open
	// file, but not against memcached's limit of connections.
	backends = 64
)

// connectionLimit returns memcached's -c, which also limits its file descriptors. Each thread has a connection to each node.
func (o ProxyOptions) connectionLimit(nodes int) int {
	reserved := (nodes + backends) / backends * backends
	limit := o.MaxConnections + ownConnections + o.Threads*(ownPerThread+reserved)
	if o.Agent {
		limit += agentConnections
	}
	if o.TLS != "" {
		limit += tlsConnections
	}
	return limit
}

// tlsVersions maps TLS to memcached's ssl_min_version.
var tlsVersions = map[string]int{"": 0, "1.2": 2, "1.3": 3}

// tlsArguments returns the arguments for TLS, and tlsOptions the values of -o. The launcher and the agent always reach memcached
// without TLS, on the loopback address.
func (o ProxyOptions) tlsArguments() []string {
	if o.TLS == "" {
		return nil
	}
	host, port, _ := strings.Cut(o.Memcached, ":")
	if o.Plaintext {
		host = "*"
	}
	return []string{"-Z", "-l", fmt.Sprintf("notls:%s:%s,%s", host, port, o.tlsListen)}
}

func (o ProxyOptions) tlsOptions() string {
	if o.TLS == "" {
		return ""
	}
	options := fmt.Sprintf(",ssl_chain_cert=%s/tls.crt,ssl_key=%[1]s/tls.key,ssl_min_version=%d", o.pair, tlsVersions[o.TLS])
	if o.ClientCA {
		options += fmt.Sprintf(",ssl_ca_cert=%s/ca.crt,ssl_verify_mode=2", o.pair)
	}
	return options
}

// requests is the number of keys that clients can wait for at the same time. Each takes 5 KiB, which memcached keeps for later keys.
func (o ProxyOptions) requests() int { return o.MaxConnections + 2048*o.Threads }

// readBuffers is memcached's limit, in MiB, for commands that it has begun to read and for what it notes about the answer to each key.
// Connections that need more are closed.
func (o ProxyOptions) readBuffers() int { return o.MaxConnections*8/1024 + 16*o.Threads }

// arguments returns memcached's arguments. A proxy stores no items, except for empty ones that mg with N creates while a node is
// away.
func (o ProxyOptions) arguments(nodes int) protocol.List {
	arguments := []string{
		"-p", "11211", "-U", "0", "-m", "8", "-c", strconv.Itoa(o.connectionLimit(nodes)), "-t", strconv.Itoa(o.Threads),
	}
	arguments = append(arguments, o.tlsArguments()...)
	return protocol.List{Arguments: append(arguments, "-o",
		fmt.Sprintf("read_buf_mem_limit=%d,proxy_config=routelib:%s,proxy_arg=%s", o.readBuffers(), o.copies(), o.program())+o.tlsOptions())}
}

// program, copies and values are files that memcached reads: the program that creates routes, the route to copies, and the program's
// values. accepted is the file with the routes from which values was written.
func (o ProxyOptions) program() string  { return filepath.Join(o.State, "routes.lua") }
func (o ProxyOptions) copies() string   { return filepath.Join(o.State, "copies.lua") }
func (o ProxyOptions) values() string   { return filepath.Join(o.State, "routes.values") }
func (o ProxyOptions) accepted() string { return filepath.Join(o.State, "routes.accepted") }
