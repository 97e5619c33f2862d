// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
)

// ProxyOptions are the parent's flags in the container of a proxy.
type ProxyOptions struct {
	// Routes is the directory with the files of the ConfigMap.
	Routes string
	// State is the directory for files that memcached reads, and for what must outlive the container.
	State string
	// Listen is the address of the parent's own HTTP server. Memcached is memcached's address.
	Listen, Memcached string
	// Program is the name or the path of memcached's executable.
	Program string
	// TLS is the lowest TLS version for clients, 1.2 or 1.3, or empty without TLS. ClientCA means that clients need a certificate.
	// Plaintext means that clients may also connect without TLS.
	TLS                 string
	ClientCA, Plaintext bool
	// Threads is the number of memcached's worker threads. MaxConnections is how many connections of clients memcached must allow. It
	// may allow more.
	Threads, MaxConnections int
	// tlsListen is the address at which memcached serves TLS. pair is the directory into which an agent writes the certificate and key.
	tlsListen, pair string
	dns             resolver
	// poll is how often the parent reads the ConfigMap, looks up unreachable nodes and checks the buffers. settle is how often it asks
	// memcached about a reload. resend is the time after which the parent signals memcached again, if memcached has not begun to reload.
	// confirm is how long the parent waits for a failure after a reload has begun. Without a failure, the reload counts as successful.
	poll, settle, resend, confirm time.Duration
	// others is how long a proxy that reaches a node waits for the others before it becomes ready. dial is how often the parent connects to
	// all nodes.
	others, dial time.Duration
	// starvation is how long the buffers of a thread may be full: see proxy.watchBuffers.
	starvation time.Duration
	// deafAfter is how long memcached may accept no connection, 0 for the default.
	deafAfter time.Duration
}

// ParseProxy parses the flags of a proxy's parent.
func ParseProxy(args []string, output io.Writer) (ProxyOptions, error) {
	o := ProxyOptions{
		tlsListen: "*:11212", pair: "/run/memcached/current", dns: strictly,
		poll: time.Second, settle: settlePoll, resend: 5 * time.Second, confirm: time.Second,
		starvation: starvation, others: 10 * time.Second, dial: 10 * time.Second,
	}
	flags := flag.NewFlagSet("agent proxy", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&o.Routes, "routes", "/etc/memcached", "the `folder` with the routes")
	flags.StringVar(&o.State, "state", "/run/parent", "the `folder` in which the parent keeps what must outlive the container")
	flags.StringVar(&o.Listen, "listen", ":9151", "the `address` of the parent's HTTP server")
	flags.StringVar(&o.Memcached, "memcached", "127.0.0.1:11211", "the `address` of memcached")
	flags.StringVar(&o.Program, "program", "memcached", "the `command` that the parent starts")
	flags.IntVar(&o.Threads, "threads", 4, "the `number` of memcached's worker threads")
	flags.IntVar(&o.MaxConnections, "max-connections", 1024, "the `number` of connections that clients can have")
	flags.StringVar(&o.TLS, "tls", "", "the lowest `version` of TLS that clients may use, 1.2 or 1.3; without it, they use none")
	flags.BoolVar(&o.ClientCA, "client-ca", false, "with TLS, clients need a certificate")
	flags.BoolVar(&o.Plaintext, "plaintext", false, "with TLS, clients may also connect without it")
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
	// ownConnections is the number of file descriptors that memcached itself needs, and 4 for the agent's connections. ownPerThread is
	// the number for each thread. tlsConnections is the number for the TLS listeners and for one handshake of the agent.
	ownConnections, ownPerThread, tlsConnections = 9 + 4, 5, 3
	// connectionLimit rounds the number of nodes up to the next greater multiple of backends.
	backends = 64
)

// connectionLimit returns the value of -c. memcached derives its limit of file descriptors from -c. So the value includes a connection
// from each thread to each node, although memcached does not count these connections against -c.
func (o ProxyOptions) connectionLimit(nodes int) int {
	reserved := (nodes + backends) / backends * backends
	limit := o.MaxConnections + ownConnections + o.Threads*(ownPerThread+reserved)
	if o.TLS != "" {
		limit += tlsConnections
	}
	return limit
}

// tlsVersions maps the flag --tls to memcached's ssl_min_version.
var tlsVersions = map[string]int{"": 0, "1.2": 2, "1.3": 3}

// tlsArguments returns memcached's arguments for TLS, and tlsOptions returns what TLS adds to the value of -o. The parent and the
// agent always reach memcached without TLS, on the loopback address.
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

// requests returns the value of active_req_limit: the number of keys for which memcached may await answers from nodes at the same time. The
// limit covers requests of clients and the additional reads of copies.lua. Each key takes 5 KiB of memory, which memcached reuses but does
// not free.
func (o ProxyOptions) requests() int { return o.MaxConnections + 2048*o.Threads }

// readBuffers returns read_buf_mem_limit in MiB. This memory holds incomplete commands, and an object for the answer to each requested
// key. memcached closes connections that need more.
func (o ProxyOptions) readBuffers() int { return o.MaxConnections*8/1024 + 16*o.Threads }

// arguments returns memcached's arguments. -m is small: a proxy stores no items.
func (o ProxyOptions) arguments(nodes int) protocol.List {
	arguments := []string{
		"-p", "11211", "-U", "0", "-W", "-X", "-m", "8", "-c", strconv.Itoa(o.connectionLimit(nodes)), "-t", strconv.Itoa(o.Threads),
	}
	arguments = append(arguments, o.tlsArguments()...)
	arguments = append(arguments, "-o",
		fmt.Sprintf("read_buf_mem_limit=%d,proxy_config=routelib:%s,proxy_arg=%s", o.readBuffers(), o.copies(), o.program())+o.tlsOptions())
	return protocol.List{Arguments: strings.Join(arguments, " ")}
}

// program, copies and values are the files that memcached reads: the Lua program that makes routes, the Lua code for several pools,
// and the values for the program. accepted is the file with the last accepted routes.
func (o ProxyOptions) program() string  { return filepath.Join(o.State, "routes.lua") }
func (o ProxyOptions) copies() string   { return filepath.Join(o.State, "copies.lua") }
func (o ProxyOptions) values() string   { return filepath.Join(o.State, "routes.values") }
func (o ProxyOptions) accepted() string { return filepath.Join(o.State, "routes.accepted") }
