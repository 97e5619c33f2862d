// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Command policy writes patterns into admission policies, because CEL cannot use Go constants. The patterns match what the operator
// may write for the launcher, which is memcached's parent process. In a policy, each pattern becomes the expression of a variable.
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

// variables maps the name of a variable in the policies to the pattern that it contains.
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

// rewrite writes the patterns into the policies in a file. It fails if the file has none of the variables.
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

// expand replaces the expressions of the variables in a policy by the patterns, which must not contain quotes or backslashes. It returns
// the result and the number of replaced expressions.
func expand(policy string) (expanded string, count int) {
	for name, pattern := range variables {
		place := regexp.MustCompile(`(?m)^( *- name: ` + name + `\n *expression: ).*$`)
		count += len(place.FindAllString(policy, -1))
		policy = place.ReplaceAllString(policy, `${1}"'`+strings.ReplaceAll(pattern, "$", "$$")+`'"`)
	}
	return policy, count
}
