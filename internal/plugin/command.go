// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package plugin is the command "kubectl memcached". Each of its four commands has a file.
//
// A cache is a Memcached resource, and its nodes are its pods. The commands read both with the permissions of the user. They reach
// memcached through the API server, as "kubectl port-forward" does: this needs neither the operator nor an agent.
package plugin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/utils/clock"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// session is what every command needs: the streams of the terminal, and the flags that several commands have.
type session struct {
	genericiooptions.IOStreams

	flags   *genericclioptions.ConfigFlags
	connect func(*session) (*cluster, error)
	clock   clock.Clock
	// nodeTimeout is how long one node may take to answer.
	nodeTimeout time.Duration
	// slots has a slot for each node that is asked at a time.
	slots chan struct{}

	// output, user, node and yes are the values of these flags.
	output, user, node string
	yes                bool
}

// Run runs the plugin with the arguments of a command line, and returns the exit code.
func Run(ctx context.Context, version string, args []string, streams genericiooptions.IOStreams) int {
	return run(ctx, &session{IOStreams: streams, connect: connect, clock: clock.RealClock{}}, version, args)
}

func run(ctx context.Context, s *session, version string, args []string) int {
	ctrllog.SetLogger(logr.Discard()) // controller-runtime would complain that there is no logger
	command := newCommand(s, version) //nolint:contextcheck // cobra passes it to the commands
	command.SetArgs(args)
	err := command.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	switch {
	case apimeta.IsNoMatchError(err):
		err = fmt.Errorf("%w: install the operator, or select another cluster with --context", err)
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return 1 // a user who has interrupted the command needs no message
	}
	fmt.Fprintln(s.ErrOut, "error: "+printers.EscapeTerminal(err.Error()))
	return 1
}

// atATime limits how many nodes are asked in parallel.
const atATime = 32

const rootLong = `See inside memcached caches, empty and restart them.

The commands reach memcached through the API server, as kubectl port-forward does, with your own
permissions: get and list memcacheds.cache.example.com and pods, and create pods/portforward.`

func newCommand(s *session, version string) *cobra.Command {
	root := &cobra.Command{
		Use:           "kubectl-memcached",
		Short:         "See inside memcached caches",
		Long:          rootLong,
		Version:       version,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl memcached"},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.ErrOut)
	s.slots = make(chan struct{}, atATime)
	s.flags = genericclioptions.NewConfigFlags(true)
	s.flags.AddFlags(root.PersistentFlags())
	// Every flag of kubectl works, but the help shows only the usual ones.
	root.PersistentFlags().VisitAll(func(flag *pflag.Flag) {
		flag.Hidden = !slices.Contains([]string{"namespace", "context", "kubeconfig"}, flag.Name)
	})
	root.PersistentFlags().DurationVar(&s.nodeTimeout, "node-timeout", 5*time.Second, "How long one node may take to answer")
	root.AddCommand(newStatusCommand(s), newStatsCommand(s), newFlushCommand(s), newRestartCommand(s))
	for _, command := range root.Commands() {
		command.Flags().StringVar(&s.user, "user", "", "Log in as this user of spec.auth, with the password in its Secret")
		if command.ValidArgsFunction == nil {
			command.ValidArgsFunction = s.completeNames
		}
	}
	return root
}

func (s *session) bindNode(command *cobra.Command) {
	command.Flags().StringVar(&s.node, "node", "", "Only this node, by the name of its pod")
}

// completeNames completes the name of a Memcached, the first argument. It hides errors, because they would disturb the line that the
// user types.
func (s *session) completeNames(command *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	ctx, cancel := context.WithTimeout(command.Context(), 3*time.Second)
	defer cancel()
	if c, err := s.connect(s); err == nil && len(args) == 0 {
		caches, _ := c.memcacheds(ctx)
		for i := range caches {
			names = append(names, caches[i].Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// confirm prints the consequences. Unless --yes is given, it asks whether to continue, and returns an error if the user does not agree.
func (s *session) confirm(ctx context.Context, consequences string) error {
	fmt.Fprintln(s.ErrOut, consequences)
	if s.yes {
		return nil
	}
	fmt.Fprint(s.ErrOut, "Continue? [y/N] ")
	answered := make(chan string, 1)
	go func() { // so that an interrupt ends the command at once
		answer, _ := bufio.NewReader(s.In).ReadString('\n')
		answered <- strings.ToLower(strings.TrimSpace(answer))
	}()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case answer := <-answered:
		if answer == "y" || answer == "yes" {
			return nil
		}
		return errors.New("nothing was done: --yes agrees in advance")
	}
}

func (s *session) bindOutput(command *cobra.Command) {
	command.Flags().StringVarP(&s.output, "output", "o", "", "json for a program")
}

// print writes a value as JSON if the user wants it so, or else calls the function table.
func (s *session) print(value any, table func() error) error {
	switch s.output {
	case "":
		return table()
	case "json":
		encoder := json.NewEncoder(s.Out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	}
	return fmt.Errorf("--output is %q, but can only be json", s.output)
}

// printTable writes a table as kubectl does, and leaves out the columns that are empty in all rows.
func (s *session) printTable(header []string, rows [][]string) error {
	table := &metav1.Table{Rows: make([]metav1.TableRow, len(rows))}
	for column, name := range header {
		if !slices.ContainsFunc(rows, func(row []string) bool { return row[column] != "" }) {
			continue
		}
		table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: name})
		for i, row := range rows {
			table.Rows[i].Cells = append(table.Rows[i].Cells, row[column])
		}
	}
	return printers.NewTablePrinter(printers.PrintOptions{}).PrintObj(table, s.Out)
}
