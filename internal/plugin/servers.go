// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Formats of servers.
const (
	formatList         = "list"
	formatLibmemcached = "libmemcached"
	formatNutcracker   = "nutcracker"
)

// serversCommand lists the nodes for clients.
type serversCommand struct {
	*session

	output outputFlag
	view   view
}

const serversLong = `List the nodes as the configuration of clients wants them.

  list          host:port, one in a line
  libmemcached  one line for the option --servers of its tools, or for the variable MEMCACHED_SERVERS
  nutcracker    a pool for the configuration of nutcracker (twemproxy)

The names of a StatefulSet's nodes stay. Addresses do not: clients that know nodes by address have to
follow the DNS.`

const serversExamples = `  # Every node in a line
  kubectl memcached servers sessions

  # For the tools of libmemcached
  kubectl memcached servers sessions --output=libmemcached

  # A pool for nutcracker, with addresses even if the nodes have names
  kubectl memcached servers sessions --output=nutcracker --nodes-by=address`

func newServersCommand(s *session) *cobra.Command {
	o := &serversCommand{session: s}
	command := &cobra.Command{
		Use:               "servers NAME",
		Short:             "List the nodes for the configuration of clients",
		Long:              serversLong,
		Example:           serversExamples,
		Args:              exactly("NAME"),
		ValidArgsFunction: s.completeNames,
		RunE:              o.run,
	}
	o.output.bind(command, "Output format: list, libmemcached or nutcracker", formatList, formatLibmemcached, formatNutcracker)
	o.view.bind(command)
	return command
}

func (o *serversCommand) run(command *cobra.Command, args []string) error {
	if err := o.output.validate(command); err != nil {
		return err
	}
	if err := o.view.validate(command); err != nil {
		return err
	}
	c, mc, err := o.open(command.Context(), args[0])
	if err != nil {
		return err
	}
	pods, err := c.pods(command.Context(), mc)
	if err != nil {
		return err
	}
	members, err := membersOf(mc, pods, o.view)
	if err != nil {
		return err
	}
	writeServers(o.Out, o.output.value, mc.Name, members)
	return nil
}

// nutcrackerPool has the settings with which nutcracker agrees with other clients: see docs/clients.md.
const nutcrackerPool = `%s:
  listen: 127.0.0.1:11211
  hash: md5
  distribution: ketama
  timeout: 250                 # milliseconds
  server_retry_timeout: 1000   # milliseconds until a failed node is tried again
  auto_eject_hosts: false
  preconnect: true
  servers:
`

func writeServers(out io.Writer, format, name string, members []member) {
	switch format {
	case formatLibmemcached:
		names := make([]string, len(members))
		for i, m := range members {
			names[i] = m.ringName()
		}
		fmt.Fprintln(out, strings.Join(names, ","))
	case formatNutcracker:
		fmt.Fprintf(out, nutcrackerPool, name)
		for _, m := range members {
			fmt.Fprintf(out, "   - %s:1\n", m.server())
		}
	default:
		for _, m := range members {
			fmt.Fprintln(out, m.server())
		}
	}
}
