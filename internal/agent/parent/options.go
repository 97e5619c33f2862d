// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"errors"
	"flag"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
)

// Options are the parent's flags.
type Options struct {
	// Arguments is the directory with the files of the ConfigMap. It may be missing.
	Arguments string
	// Name and Pod are the name and the UID of the pod.
	Name, Pod string
	// First is the list for the pod's first start.
	First protocol.List
	// State is the directory for what must outlive the container.
	State string
	// Items is the file in which memcached keeps its items if its arguments contain -e.
	Items string
	// Listen is the address of the parent's own HTTP server. Memcached is the address at which memcached serves without TLS.
	Listen, Memcached string
	// Program is the name or the path of memcached's executable.
	Program string
	// settled is how long memcached must run before its arguments count as accepted.
	settled time.Duration
	// poll is how often the parent checks the ConfigMap and, before a restart, whether memcached's background threads are idle.
	poll time.Duration
	// reclaim is how often the parent takes free pages from slab classes.
	reclaim time.Duration
	// sources are the names of the nodes with the same number in the other copies of the cache. dns looks them up.
	sources []string
	dns     resolver
	// settleClients is how long a fill waits after memcached has begun to serve, so that clients find the node first. refill is the pause
	// before a failed fill is tried again.
	settleClients, refill time.Duration
	// crawler is the longest time that a restart waits until memcached's background threads are idle: see node.awaitRest.
	crawler time.Duration
	// deafAfter is how long memcached may accept no connection, 0 for the default.
	deafAfter time.Duration
}

// ErrUsage is wrapped by every error of Parse and ParseProxy.
var ErrUsage = errors.New("usage")

// Parse parses the flags of a node's parent, and memcached's arguments after them. The host name must end with the pod's ordinal.
func Parse(args []string, hostname string, output io.Writer) (Options, error) {
	o := Options{
		Name: hostname, dns: strictly, Items: "/run/memcached-items/items",
		settled: 2 * time.Second, poll: time.Second, reclaim: 10 * time.Second,
		settleClients: settleClients, refill: refill, crawler: crawlerWait,
	}
	ordinal, noOrdinal := strconv.Atoi(hostname[strings.LastIndex(hostname, "-")+1:])
	flags := flag.NewFlagSet("agent node", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&o.Arguments, "arguments", "/etc/memcached", "the `folder` with the entries that change the arguments")
	flags.Func("fill-from", "`names` of nodes in other copies, separated by commas, with %d for the ordinal", func(text string) (err error) {
		o.sources, err = protocol.Sources(text, ordinal)
		return err
	})
	flags.StringVar(&o.Pod, "pod", "", "the `UID` of the pod, whose entry counts")
	flags.StringVar(&o.First.Target, "target", "", "the `hash` of what the spec asks for with the arguments after the flags")
	flags.StringVar(&o.First.Restart, "restart", "", "the `text` whose change restarts memcached")
	flags.StringVar(&o.State, "state", "/run/parent", "the `folder` in which the parent keeps what must outlive the container")
	flags.StringVar(&o.Items, "items", o.Items, "the `file` in which memcached keeps its items, if its arguments say so")
	flags.StringVar(&o.Listen, "listen", ":9151", "the `address` of the parent's HTTP server")
	flags.StringVar(&o.Memcached, "memcached", "127.0.0.1:11211", "the `address` of memcached without TLS")
	flags.StringVar(&o.Program, "program", "memcached", "the `command` that the parent starts")
	if err := flags.Parse(args); err != nil {
		return Options{}, errors.Join(ErrUsage, err)
	}
	o.First.Arguments = strings.Join(flags.Args(), " ")
	if err := o.First.Check(); err != nil || o.Pod == "" || o.First.Target == "" {
		return Options{}, errors.Join(ErrUsage, errors.New("--pod and --target need values, and memcached's arguments follow after --"), err)
	}
	if noOrdinal != nil {
		return Options{}, errors.Join(ErrUsage, errors.New("the host name "+strconv.Quote(hostname)+
			" does not end with an ordinal: the parent runs in pods of a StatefulSet"))
	}
	return o, nil
}

// Install copies the running program to a file. The memcached container runs that file, because its image has no parent.
func Install(file string) error {
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer program.Close()                                                          //nolint:errcheck // it was only read
	installed, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755) //nolint:gosec // another container runs it
	if err != nil {
		return err
	}
	_, err = io.Copy(installed, program)
	return errors.Join(err, installed.Close())
}
