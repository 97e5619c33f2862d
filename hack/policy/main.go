// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Command policy writes the patterns of what the operator and the launcher agree on into the admission policy, as the expressions of
// variables: CEL cannot read Go.
//
// Usage: policy FILE...
package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// variables are the variables of policies that have a pattern as their expression.
var variables = map[string]string{
	"argumentsPattern": protocol.Pattern,
	"restartPattern":   protocol.RestartPattern,
	"twinPattern":      protocol.TwinPattern,
}

func main() {
	for _, file := range os.Args[1:] {
		if err := rewrite(file); err != nil {
			fmt.Fprintln(os.Stderr, "policy:", err)
			os.Exit(1)
		}
	}
}

// rewrite writes the patterns into a file, which must have a place for one of them.
func rewrite(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	expanded, count := expand(string(text))
	if count == 0 {
		return fmt.Errorf("%s: it has no variable with a pattern", file)
	}
	return os.WriteFile(file, []byte(expanded), 0o600)
}

// expand returns a policy with the patterns, and how many there are. A pattern contains neither quotes nor backslashes.
func expand(policy string) (expanded string, count int) {
	for name, pattern := range variables {
		place := regexp.MustCompile(`(?m)^( *- name: ` + name + `\n *expression: ).*$`)
		count += len(place.FindAllString(policy, -1))
		policy = place.ReplaceAllString(policy, `${1}"'`+strings.ReplaceAll(pattern, "$", "$$")+`'"`)
	}
	return policy, count
}
