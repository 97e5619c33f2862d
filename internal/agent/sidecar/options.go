// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/example/memcached-operator/internal/agent/credentials"
)

// ErrUsage means that a flag or an argument is wrong.
var ErrUsage = errors.New("wrong flags")

// Options are the flags of the sidecar: see docs/design/agent-interface.md.
type Options struct {
	// Memcached is the address of memcached. The default is 127.0.0.1:11211.
	Memcached string
	// Listen is the address of /metrics, /status, /startupz, /readyz and /livez. The default is :9150, as for memcached_exporter.
	Listen string
	// Timeout is how long memcached may take to answer. The default is 1s. The parent has protocol.Timeout.
	Timeout time.Duration
	// Parent is the address of memcached's parent. The default is 127.0.0.1:9151. Proxy reports that memcached is a proxy.
	Parent string
	Proxy  bool
	// Credentials are the settings for TLS and users. By default, memcached has neither.
	Credentials credentials.Config
}

// parse parses the arguments. If the arguments ask for help, parse writes the help and returns flag.ErrHelp.
func parse(args []string, help io.Writer) (Options, error) {
	var o Options
	flags := flag.NewFlagSet("agent sidecar", flag.ContinueOnError)
	flags.StringVar(&o.Memcached, "memcached", "127.0.0.1:11211", "Address of memcached.")
	flags.StringVar(&o.Listen, "listen", ":9150", "Address of /metrics, /status, /startupz, /readyz and /livez.")
	flags.DurationVar(&o.Timeout, "timeout", time.Second, "How long memcached may take to answer a scrape or a probe.")
	flags.StringVar(&o.Parent, "parent", "127.0.0.1:9151", "Address of memcached's parent.")
	flags.BoolVar(&o.Proxy, "proxy", false, "Whether memcached is a proxy.")
	addCredentials(flags, &o.Credentials)
	flags.SetOutput(io.Discard) // the returned error describes a mistake in one sentence
	flags.Usage = func() {}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(help)
		fmt.Fprintln(help, "Usage: agent sidecar [flags]")
		flags.PrintDefaults()
		return o, err
	} else if err != nil {
		return o, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%w: unexpected argument %q", ErrUsage, flags.Arg(0))
	}
	return o, nil
}

func addCredentials(flags *flag.FlagSet, c *credentials.Config) {
	flags.StringVar(&c.TLSSecret, "tls-secret", "", "Folder of the Secret with tls.crt and tls.key. Without it, memcached serves no TLS.")
	flags.StringVar(&c.TLS, "tls", "127.0.0.1:11212", "Address at which memcached serves TLS.")
	flags.BoolVar(&c.ClientCA, "client-ca", false, "Whether clients need a certificate of a CA in ca.crt of that Secret.")
	flags.StringVar(&c.UsersSecret, "users-secret", "", "Folder of the Secret with the users. Without it, memcached demands no login.")
	flags.StringVar(&c.Folder, "credentials", "/run/memcached", "Folder where memcached reads its certificate and its users.")
	flags.StringVar(&c.TerminationLog, "termination-log", "/dev/termination-log", "File of the container's termination message.")
}
