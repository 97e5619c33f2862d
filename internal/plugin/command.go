// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// Exit codes.
const (
	exitFailure = 1
	exitMisuse  = 2
)

// session is what every command needs: the streams of the terminal, and the flags that select the cluster.
type session struct {
	genericiooptions.IOStreams

	version string
	flags   *genericclioptions.ConfigFlags
	connect func(*session) (*cluster, error)
	clock   clock.Clock
	// nodeTimeout is how long one node may take to answer.
	nodeTimeout time.Duration
	// user is the value of --user, a user of memcached. readPassword asks for this user's password, and is nil without a terminal.
	user         string
	readPassword func() (string, error)
	// pollPeriod is the time between two checks of a command that waits.
	pollPeriod time.Duration
}

// Run runs the plugin with the arguments of a command line, and returns the exit code.
func Run(ctx context.Context, version string, args []string, streams genericiooptions.IOStreams) int {
	s := &session{
		IOStreams: streams, version: version, connect: connect, clock: clock.RealClock{}, pollPeriod: time.Second,
		readPassword: terminalPassword(streams.In),
	}
	return run(ctx, s, args)
}

func run(ctx context.Context, s *session, args []string) int {
	ctrllog.SetLogger(logr.Discard()) // controller-runtime would complain that there is no logger
	command := newCommand(s)          //nolint:contextcheck // cobra passes it to the commands
	command.SetArgs(args)
	err := command.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if _, isMisuse := errors.AsType[*misuseError](err); isMisuse {
		fmt.Fprintf(s.ErrOut, "error: %s\n", err)
		return exitMisuse
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return exitFailure // the user has interrupted the command and needs no message
	}
	fmt.Fprintf(s.ErrOut, "error: %s\n", explain(err))
	return exitFailure
}

// misuseError is a mistake in the command line.
type misuseError struct{ message string }

func (e *misuseError) Error() string { return e.message }

func misuse(command *cobra.Command, format string, args ...any) error {
	return &misuseError{fmt.Sprintf(format, args...) + "; " + command.CommandPath() + " --help has examples"}
}

const rootLong = `See inside memcached caches, and do what they need by hand.

The commands reach memcached through the API server, as kubectl port-forward does, with your own
permissions: get and list memcacheds.cache.example.com and pods, and create pods/portforward.`

func newCommand(s *session) *cobra.Command {
	root := &cobra.Command{
		Use:           "kubectl-memcached",
		Short:         "See inside memcached caches",
		Long:          rootLong,
		Version:       s.version,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl memcached"},
		SilenceErrors: true,

		SuggestionsMinimumDistance: 2,
		SilenceUsage:               true,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return misuse(command, "unknown command %q%s", args[0], didYouMean(command.SuggestionsFor(args[0])))
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.ErrOut)
	// pflag describes boolean flags as --help[=true|false]. The help shows only --help.
	cobra.AddTemplateFunc("plain", func(usages string) string { return strings.ReplaceAll(usages, "[=true|false]", "             ") })
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages |", ".FlagUsages | plain |"))
	root.SetFlagErrorFunc(func(command *cobra.Command, err error) error { return misuse(command, "%s", err) })
	s.flags = genericclioptions.NewConfigFlags(true)
	s.flags.AddFlags(root.PersistentFlags())
	hideRareFlags(root.PersistentFlags())
	root.PersistentFlags().DurationVar(&s.nodeTimeout, "node-timeout", 5*time.Second, "How long one node may take to answer")
	root.AddCommand(newStatusCommand(s), newStatsCommand(s), newServersCommand(s), newGetCommand(s), newSetCommand(s),
		newDeleteCommand(s), newFlushCommand(s), newRestartCommand(s), newSizeCommand(s), newVersionsCommand(s), newDebugCommand(s))
	_ = root.RegisterFlagCompletionFunc("namespace", s.completeNamespaces) // it fails for unknown flags only
	return root
}

// didYouMean returns the end of an error message about an unknown name: the similar names, if there are any.
func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(names, " or ") + "?)"
}

// hideRareFlags keeps the help short. Every flag of kubectl works, whether it is shown or not.
func hideRareFlags(flags *pflag.FlagSet) {
	flags.VisitAll(func(flag *pflag.Flag) {
		flag.Hidden = !slices.Contains([]string{"namespace", "context", "kubeconfig"}, flag.Name)
	})
}

// exactly requires one argument for each of the names.
func exactly(names ...string) cobra.PositionalArgs {
	return between(len(names), names...)
}

// between requires at least the given number of arguments, and at most one for each of the names.
func between(least int, names ...string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return misuse(command, "%s is missing", names[len(args)])
		case len(args) > len(names):
			return misuse(command, "unexpected argument %q", args[len(names)])
		}
		return nil
	}
}
