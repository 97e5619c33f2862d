// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Command policy writes patterns into the admission policies, since CEL cannot use Go constants. The operator and the launcher share
// these patterns. They become the expressions of variables.
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

// variables maps the names of variables in policies to the patterns that are their expressions.
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

// rewrite writes the patterns into a file. It fails if the file has none of the variables.
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

// expand returns a policy with the patterns, and their number. The patterns must not contain quotes or backslashes.
func expand(policy string) (expanded string, count int) {
	for name, pattern := range variables {
		place := regexp.MustCompile(`(?m)^( *- name: ` + name + `\n *expression: ).*$`)
		count += len(place.FindAllString(policy, -1))
		policy = place.ReplaceAllString(policy, `${1}"'`+strings.ReplaceAll(pattern, "$", "$$")+`'"`)
	}
	return policy, count
}
