// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package testenv_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/example/memcached-operator/test/repository"
	"github.com/example/memcached-operator/test/testenv"
)

// Without this test, a run with ENVTEST_K8S_VERSION could silently use an API server of another version.
func TestTheAPIServerIsOfTheWantedVersion(t *testing.T) {
	environment := &envtest.Environment{}
	config, err := environment.Start()
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	minor, err := testenv.MinorOf(config)
	if err != nil {
		t.Fatal(err)
	}
	wanted := cmp.Or(os.Getenv("ENVTEST_K8S_VERSION"), fmt.Sprintf("1.%d.x", repository.NewestKubernetes(t)))
	if !strings.HasPrefix(wanted, fmt.Sprintf("1.%d.", minor)) {
		t.Errorf("the API server is of version 1.%d, and ENVTEST_K8S_VERSION is %s: is KUBEBUILDER_ASSETS set?", minor, wanted)
	}
}

func TestWordsOfOlderVersions(t *testing.T) {
	old, latest := testenv.Minor(30), testenv.Minor(repository.NewestKubernetes(t))
	const same = `a: Unsupported value: "x": supported values: "Always", "Sometimes"`
	for newest, older := range map[string]string{
		`spec.config.memory: Invalid value: "63Mi": must be more`:     `spec.config.memory: Invalid value: "": must be more`,
		`spec.updateStrategy: Invalid value: both are 0`:              `spec.updateStrategy: Invalid value: "object": both are 0`,
		`a: Invalid value: -1: a in body should be greater`:           `a: Invalid value: -1: a in body should be greater`,
		`spec.image: Invalid value: "a\"b: c": must be`:               `spec.image: Invalid value: "string": must be`,
		`a[1]: Duplicate value: {"b":"a","key":"b"}`:                  `a[1]: Duplicate value: map[string]interface {}{"b":"a", "key":"b"}`,
		`spec.image: Too long: may not be more than 512 bytes`:        `spec.image: Too long: may not be longer than 512`,
		`a: Invalid value: "number": a in body must be of type int32`: `a: Invalid value: "number": a in body must be of type integer`,
		same: same,
	} {
		if got, want := old.Words(older), old.Words(newest); got != want {
			t.Errorf("%s and %s are compared as %q and %q", newest, older, want, got)
		}
		if got := latest.Words(newest); got != newest {
			t.Errorf("the newest words %q are compared as %q", newest, got)
		}
	}
	if old.Words(`a: Invalid value: "object": one`) == old.Words(`a: Invalid value: "object": another`) {
		t.Error("what a rule says is not compared")
	}
}
