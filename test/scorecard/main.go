// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// The command scorecard tests an OLM bundle. The project's own scorecard image contains this command, for tests that the image of
// operator-sdk lacks. "operator-sdk scorecard" runs the command in a pod with the bundle in /bundle, and reads the result from the
// output. The command also runs without a cluster: go run ./test/scorecard --bundle bundle --config config examples.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
)

// tests maps each name in the configuration of scorecard to a test, which returns its findings.
var tests = map[string]func(*bundle) []string{
	"descriptors": descriptors,
	"examples":    examples,
	"images":      images,
	"permissions": permissions,
	"references":  references,
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scorecard:", err)
		os.Exit(1)
	}
}

// run runs the test that the arguments name and prints the result in the format of scorecard.
func run(args []string, output io.Writer) error {
	flags := flag.NewFlagSet("scorecard", flag.ContinueOnError)
	folder := flags.String("bundle", "/bundle", "the folder of the bundle")
	config := flags.String("config", "/config", "the folder config of the project, with the permissions that the operator needs")
	if err := flags.Parse(args); err != nil {
		return err
	}
	test, ok := tests[flags.Arg(0)]
	if !ok {
		return fmt.Errorf("there is no test %q: name one of %s",
			flags.Arg(0), strings.Join(slices.Sorted(maps.Keys(tests)), ", "))
	}
	loaded, err := load(*folder, *config)
	if err != nil {
		return err
	}
	result := v1alpha3.TestResult{Name: flags.Arg(0), State: v1alpha3.PassState, Errors: test(loaded)}
	if len(result.Errors) > 0 {
		result.State = v1alpha3.FailState
	}
	encoder := json.NewEncoder(output)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v1alpha3.TestStatus{Results: []v1alpha3.TestResult{result}})
}
