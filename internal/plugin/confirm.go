// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func bindYes(command *cobra.Command, yes *bool) {
	command.Flags().BoolVarP(yes, "yes", "y", false, "Do not ask")
}

// confirm asks whether to go on. Whoever cannot answer has not agreed.
func (s *session) confirm(consequences string, yes bool) error {
	fmt.Fprintln(s.ErrOut, consequences)
	if yes {
		return nil
	}
	fmt.Fprint(s.ErrOut, "Continue? [y/N] ")
	answer, err := bufio.NewReader(s.In).ReadString('\n')
	if err != nil {
		fmt.Fprintln(s.ErrOut)
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
