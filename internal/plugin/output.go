// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// Formats of --output besides a table.
const (
	formatJSON = "json"
	formatYAML = "yaml"
)

// outputFlag is the flag --output with the formats that a command supports. The first one is the default.
type outputFlag struct {
	value   string
	formats []string
}

func (o *outputFlag) bind(command *cobra.Command, usage string, formats ...string) {
	o.formats = formats
	command.Flags().StringVarP(&o.value, "output", "o", formats[0], usage)
	completions := cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)
	_ = command.RegisterFlagCompletionFunc("output", completions) // the flag exists
}

func (o *outputFlag) validate(command *cobra.Command) error {
	if !slices.Contains(o.formats, o.value) {
		return misuse(command, "--output is %q, but must be %s", o.value, strings.Join(o.formats, ", "))
	}
	return nil
}

func (s *session) writeDocument(format string, value any) error {
	if format == formatYAML {
		document, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		_, err = s.Out.Write(document)
		return err
	}
	document, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.Out, string(document))
	return err
}
