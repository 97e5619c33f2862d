// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// debugCommand writes an archive with what is needed to find a problem.
type debugCommand struct {
	*session

	output            string
	operatorNamespace string
}

const debugLong = `Write what is known of a cache into a .tar.gz file, for a bug report or for a colleague: the Memcached
and the objects that the operator writes for it, pods, events, logs of memcached and of the operator,
and the statistics of each node. The same of each MemcachedProxy that leads to it.

The file never contains keys or values of the cache, nor Secrets, nor the environment of containers, nor
the values of annotations and the command lines of containers that others have added to the objects.
The Memcached and the MemcachedProxies are in it as their authors wrote them, but for their annotations.
A log of memcached with requests of clients is left out. What could not be collected is named in
problems.txt.`

const debugExamples = `  # A file in the current folder
  kubectl memcached debug sessions

  # Elsewhere
  kubectl memcached debug sessions --file=/tmp/sessions.tar.gz`

func newDebugCommand(s *session) *cobra.Command {
	o := &debugCommand{session: s}
	command := &cobra.Command{
		Use:               "debug NAME",
		Short:             "Collect statuses, events, logs and statistics in a file",
		Long:              debugLong,
		Example:           debugExamples,
		Args:              exactly("NAME"),
		ValidArgsFunction: s.completeNames,
		RunE:              o.run,
	}
	s.bindUser(command)
	flags := command.Flags()
	flags.StringVarP(&o.output, "file", "f", "", "File to write; - is the standard output. The default is NAME-TIME.tar.gz")
	flags.StringVar(&o.operatorNamespace, "operator-namespace", "memcached-operator-system", "Where the operator runs")
	return command
}

func (o *debugCommand) run(command *cobra.Command, args []string) error {
	c, mc, err := o.open(command.Context(), args[0])
	if err != nil {
		return err
	}
	now := o.clock.Now().UTC()
	file := o.output
	if file == "" {
		file = fmt.Sprintf("%s-%s.tar.gz", mc.Name, now.Format("20060102T150405Z"))
	}
	collect := func(out io.Writer) error {
		b := newBundle(out, o.session, c, now)
		b.collect(command.Context(), mc, o.operatorNamespace)
		return b.close()
	}
	if file == "-" {
		return collect(o.Out)
	}
	if err := writeNewFile(file, collect); err != nil {
		return err
	}
	fmt.Fprintln(o.Out, file)
	return context.Cause(command.Context())
}

// writeNewFile creates a file that only its owner can read. It fails if the file exists.
func writeNewFile(name string, write func(io.Writer) error) (err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
	}()
	return write(file)
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
