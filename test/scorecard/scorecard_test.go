// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"sigs.k8s.io/yaml"
)

const (
	root   = "../.."
	folder = root + "/bundle"
	config = root + "/config"
)

func TestTheBundlePasses(t *testing.T) {
	for name := range tests {
		var output bytes.Buffer
		if err := run([]string{"--bundle", folder, "--config", config, name}, &output); err != nil {
			t.Fatal(err)
		}
		var got v1alpha3.TestStatus
		if err := json.Unmarshal(output.Bytes(), &got); err != nil {
			t.Fatalf("scorecard could not read %s: %v", output.String(), err)
		}
		want := v1alpha3.TestStatus{Results: []v1alpha3.TestResult{{Name: name, State: v1alpha3.PassState}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTheConfigurationOfScorecardNamesEveryTest(t *testing.T) {
	text, err := os.ReadFile(folder + "/tests/scorecard/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var configuration v1alpha3.Configuration
	if err := yaml.UnmarshalStrict(text, &configuration); err != nil {
		t.Fatal(err)
	}
	named := map[string]int{}
	suites := map[string]int{}
	for _, stage := range configuration.Stages {
		for _, test := range stage.Tests {
			suites[test.Labels["suite"]]++
			if test.Labels["suite"] == "memcached" {
				named[test.Entrypoint[1]]++
			}
		}
	}
	for name := range tests {
		if named[name] != 1 {
			t.Errorf("the configuration names the test %s %d times, want once", name, named[name])
		}
	}
	if diff := cmp.Diff(map[string]int{"basic": 1, "olm": 5, "memcached": len(tests)}, suites); diff != "" {
		t.Errorf("tests by suite (-want +got):\n%s", diff)
	}
}

func TestWhatScorecardCannotRunIsTold(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"no test":      {[]string{"--bundle", folder, "--config", config}, "name one of descriptors, examples, images"},
		"unknown test": {[]string{"--bundle", folder, "--config", config, "speed"}, `there is no test "speed"`},
		"no bundle":    {[]string{"--bundle", t.TempDir(), "--config", config, "images"}, "bundle"},
		"no config":    {[]string{"--bundle", folder, "--config", t.TempDir(), "images"}, "read the permissions"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var output bytes.Buffer
			err := run(test.args, &output)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
			if output.Len() > 0 {
				t.Errorf("a result was printed: %s", output.String())
			}
		})
	}
}
