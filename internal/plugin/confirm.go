// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

func bindYes(command *cobra.Command, yes *bool) {
	command.Flags().BoolVarP(yes, "yes", "y", false, "Do not ask")
}

// confirm prints the consequences. Unless yes is set, it asks whether to continue, and returns an error if the user does not agree.
func (s *session) confirm(ctx context.Context, consequences string, yes bool) error {
	fmt.Fprintln(s.ErrOut, consequences)
	if yes {
		return nil
	}
	fmt.Fprint(s.ErrOut, "Continue? [y/N] ")
	answer, err := s.interruptible(ctx, func(in io.Reader) (string, error) { return bufio.NewReader(in).ReadString('\n') })
	if err != nil {
		fmt.Fprintln(s.ErrOut)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	case "":
		if err != nil {
			return errors.New("nothing was done, because nobody answered: --yes agrees in advance")
		}
	}
	return errors.New("nothing was done")
}

// interruptible calls the function read with the standard input. When the context ends, interruptible returns at once, but the call goes
// on in the background.
func (s *session) interruptible(ctx context.Context, read func(io.Reader) (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := read(s.In)
		done <- result{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case got := <-done:
		return got.text, got.err
	}
}
