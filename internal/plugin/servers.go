// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"

	"github.com/spf13/cobra"
)

type serversCommand struct {
	*session

	view view
}

const serversLong = `List the nodes for the configuration of clients: host:port, one for each line.

The names of a StatefulSet's nodes stay. Addresses do not: clients that know nodes by address have to
follow the DNS.`

const serversExamples = `  # One node for each line
  kubectl memcached servers sessions

  # Addresses, even if the nodes have names
  kubectl memcached servers sessions --nodes-by=address`

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
	o.view.bind(command)
	return command
}

func (o *serversCommand) run(command *cobra.Command, args []string) error {
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
	for _, m := range members {
		fmt.Fprintln(o.Out, m.server())
	}
	return nil
}
