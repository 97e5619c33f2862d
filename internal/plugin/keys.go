// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcache"
)

// keyCommand reads, writes or deletes one key on the node that holds it.
type keyCommand struct {
	*session

	placement placement
	// expiry is the lifetime of the item that "set" stores, 0 for an unlimited one.
	expiry time.Duration
}

const getLong = `Print the value of a key, from the node that holds it. The value goes to the standard output, and the
node to the standard error. The exit code is 1 if the node does not have the key.`

const getExamples = `  # A key as clients with the ring of libmemcached find it
  kubectl memcached get sessions user:42

  # The same for clients that choose the node as Loki, Mimir and Thanos do
  kubectl memcached get sessions user:42 --hash=jump`

func newGetCommand(s *session) *cobra.Command {
	o := &keyCommand{session: s}
	command := &cobra.Command{
		Use:     "get NAME KEY",
		Short:   "Print the value of a key, from the node that holds it",
		Long:    getLong,
		Example: getExamples,
		Args:    exactly("NAME", "KEY"),
		RunE:    o.run(o.get),
	}
	return o.complete(command)
}

const setExamples = `  # A value for ten minutes
  kubectl memcached set sessions user:42 hello --expire=10m

  # A value from a file
  kubectl memcached set sessions page:7 - <page.html`

func newSetCommand(s *session) *cobra.Command {
	o := &keyCommand{session: s}
	command := &cobra.Command{
		Use:     "set NAME KEY VALUE",
		Short:   "Store a value, on the node that holds the key",
		Long:    "Store a value with the flags 0, on the node that holds the key. If VALUE is -, it is the standard input.",
		Example: setExamples,
		Args:    exactly("NAME", "KEY", "VALUE"),
		RunE:    o.run(o.set),
	}
	command.Flags().DurationVar(&o.expiry, "expire", 0, "When the item expires, in whole seconds; 0 is never")
	return o.complete(command)
}

const deleteExamples = `  # Delete a key, so that the application reads it from its source again
  kubectl memcached delete sessions user:42`

func newDeleteCommand(s *session) *cobra.Command {
	o := &keyCommand{session: s}
	command := &cobra.Command{
		Use:     "delete NAME KEY",
		Short:   "Delete a key, on the node that holds it",
		Long:    "Delete a key, on the node that holds it. The exit code is 1 if the node does not have the key.",
		Example: deleteExamples,
		Args:    exactly("NAME", "KEY"),
		RunE:    o.run(o.del),
	}
	return o.complete(command)
}

func (o *keyCommand) complete(command *cobra.Command) *cobra.Command {
	command.ValidArgsFunction = o.completeNames
	o.placement.bind(command)
	o.bindUser(command)
	return command
}

// longestKey is the length of the longest key that memcached accepts.
const longestKey = 250

func validateKey(command *cobra.Command, key string) error {
	forbidden := func(character rune) bool { return character <= ' ' || character == 0x7f }
	if key == "" || len(key) > longestKey || strings.ContainsFunc(key, forbidden) {
		return misuse(command, "a key has 1 to %d bytes, without spaces and control characters", longestKey)
	}
	return nil
}

// latestExpiry is the last expiry time that memcached's 32 bits can express. With a later one, memcached stores an expired item.
var latestExpiry = time.Unix(math.MaxInt32, 0).UTC()

func (o *keyCommand) validateExpiry(command *cobra.Command) error {
	if o.expiry < 0 || o.expiry%time.Second != 0 {
		return misuse(command, "--expire is %s, but must be at least 0, in whole seconds", o.expiry)
	}
	if o.clock.Now().Add(o.expiry).After(latestExpiry) {
		return misuse(command, "--expire is %s, but memcached cannot store a time after %s", o.expiry, latestExpiry.Format(time.RFC3339))
	}
	return nil
}

// keyFunc handles a key on the node that holds it. args are the key and, for "set", the value.
type keyFunc func(ctx context.Context, conn *memcache.Conn, node string, args []string) error

func (o *keyCommand) run(do keyFunc) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		if err := errors.Join(validateKey(command, args[1]), o.placement.validate(command)); err != nil {
			return err
		}
		if err := o.validateExpiry(command); err != nil {
			return err
		}
		args, err := o.readValue(command.Context(), args)
		if err != nil {
			return err
		}
		c, mc, err := o.open(command.Context(), args[0])
		if err != nil {
			return err
		}
		if err := c.refuseKeys(command.Context(), mc); err != nil {
			return err
		}
		pod, node, err := o.find(command.Context(), c, mc, args[1])
		if err != nil {
			return err
		}
		err = o.ask(command.Context(), c, pod, func(ctx context.Context, conn *memcache.Conn) error {
			return do(ctx, conn, node, args[1:])
		})
		var miss *missError
		if err == nil || errors.As(err, &miss) {
			return err
		}
		return fmt.Errorf("%s: %s", node, unreachable(err))
	}
}

// readValue replaces the value "-" by the standard input. It must run before the command connects, so that no connection waits for
// the user.
func (o *keyCommand) readValue(ctx context.Context, args []string) ([]string, error) {
	if len(args) < 3 || args[2] != "-" {
		return args, nil
	}
	value, err := o.interruptible(ctx, func(in io.Reader) (string, error) {
		content, err := io.ReadAll(in)
		return string(content), err
	})
	return []string{args[0], args[1], value}, err
}

// find returns the pod that holds a key, and the name to show for this pod.
func (o *keyCommand) find(ctx context.Context, c *cluster, mc *cachev1alpha1.Memcached, key string) (*corev1.Pod, string, error) {
	pods, err := c.pods(ctx, mc)
	if err != nil {
		return nil, "", err
	}
	members, err := membersOf(mc, pods, o.placement.view)
	if err != nil {
		return nil, "", err
	}
	owner := ownerOf(members, o.placement.hash, key)
	for i := range pods {
		if pods[i].Name == owner.pod {
			return &pods[i], fmt.Sprintf("%s (%s)", owner.pod, owner.server()), nil
		}
	}
	return nil, "", fmt.Errorf("%s holds the key, but has no pod at the moment", owner.pod)
}

type missError struct{ node string }

func (e *missError) Error() string { return e.node + " does not have the key" }

func (o *keyCommand) get(ctx context.Context, conn *memcache.Conn, node string, args []string) error {
	value, err := conn.Value(ctx, args[0])
	if err != nil {
		return err
	}
	if value == nil {
		return &missError{node}
	}
	fmt.Fprintf(o.ErrOut, "%s, %d bytes, flags %d\n", node, len(value.Bytes), value.Flags)
	if isTerminal(o.Out) {
		fmt.Fprintln(o.Out, printableLines(string(value.Bytes)))
		return nil
	}
	_, err = o.Out.Write(value.Bytes)
	return err
}

// printableLines makes each line of a text safe for a terminal.
func printableLines(value string) string {
	lines := strings.Split(value, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

func (o *keyCommand) set(ctx context.Context, conn *memcache.Conn, node string, args []string) error {
	// A memcached that demands a login takes every "set" for an attempt to log in, until a client has logged in.
	if demanded, err := conn.DemandsLogin(ctx); err != nil || demanded {
		return cmp.Or(err, errAuthentication)
	}
	value := args[1]
	command := fmt.Sprintf("set %s 0 %d %d\r\n%s", args[0], expiryTime(o.expiry, o.clock.Now()), len(value), value)
	return o.change(ctx, conn, command, "STORED", "stored on "+node)
}

func (o *keyCommand) del(ctx context.Context, conn *memcache.Conn, node string, args []string) error {
	err := o.change(ctx, conn, "delete "+args[0], "DELETED", "deleted from "+node)
	var refusal *memcache.RefusalError
	if errors.As(err, &refusal) && refusal.Reply == "NOT_FOUND" {
		return &missError{node}
	}
	return err
}

// change sends a command and expects the reply want. After that reply, it prints the text done. Any other reply is an error.
func (o *keyCommand) change(ctx context.Context, conn *memcache.Conn, command, want, done string) error {
	reply, err := conn.Command(ctx, command)
	switch {
	case err != nil:
		return err
	case reply != want:
		return &memcache.RefusalError{Reply: reply}
	}
	fmt.Fprintln(o.Out, done)
	return nil
}

// expiryTime returns the expiry time in memcached's format: the seconds from now for up to 30 days, and a Unix time beyond that.
func expiryTime(expiry time.Duration, now time.Time) int64 {
	const relative = 30 * 24 * time.Hour
	if expiry > relative {
		return now.Add(expiry).Unix()
	}
	return int64(expiry / time.Second)
}
