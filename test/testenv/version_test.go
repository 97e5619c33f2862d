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
