// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestRotationCostsNothing checks the verdicts on requests that a rotation could cause, together with those that an operator always
// sends.
func TestRotationCostsNothing(t *testing.T) {
	verdictOf := map[int]verdict{0: holds, 1: missed}
	for name, test := range map[string]struct {
		caused       []request
		during, ever int
	}{
		"nothing":            {nil, 0, 0},
		"a write":            {[]request{{verb: "patch", resource: "deployments", code: http.StatusOK}}, 1, 0},
		"a refused write":    {[]request{{verb: "patch", resource: "deployments", code: http.StatusForbidden}}, 1, 0},
		"an event":           {[]request{{verb: "create", resource: "events"}}, 1, 0},
		"a list":             {[]request{{verb: "list", resource: "pods"}}, 1, 0},
		"a review":           {[]request{{verb: "create", resource: "tokenreviews"}}, 1, 0},
		"a node is asked":    {[]request{{verb: "get", resource: "pods/proxy"}}, 0, 0},
		"a Secret":           {[]request{{verb: "get", resource: "secrets"}}, 1, 1},
		"a watch of Secrets": {[]request{{verb: "watch", resource: "secrets"}}, 0, 1},
	} {
		b := &bench{}
		requests := slices.Concat([]request{{verb: "update", resource: "leases"}, {verb: "watch", resource: "pods"}}, test.caused)
		b.holdNoRequest(requests, "rotation")
		b.holdNoSecret(requests, "ever")
		want := map[string]verdict{
			fmt.Sprint("requests: rotation ", test.during):       verdictOf[test.during],
			fmt.Sprint("requests for Secrets: ever ", test.ever): verdictOf[test.ever],
		}
		if diff := cmp.Diff(want, verdicts(b.report.Results)); diff != "" {
			t.Errorf("%s: verdicts (-want +got):\n%s", name, diff)
		}
	}
}

// TestEveryIssueDiffers checks that a rotation changes each key of each Secret, and that the specs name these Secrets.
func TestEveryIssueDiffers(t *testing.T) {
	const n = 3
	secrets := func() map[client.ObjectKey]*corev1.Secret {
		with, err := issue()
		if err != nil {
			t.Fatal(err)
		}
		found := make(chan *corev1.Secret, 2*n)
		if err := eachSecret(n, with, func(secret client.Object) error { found <- secret.(*corev1.Secret); return nil }); err != nil {
			t.Fatal(err)
		}
		close(found)
		named := map[client.ObjectKey]*corev1.Secret{}
		for secret := range found {
			named[client.ObjectKeyFromObject(secret)] = secret
		}
		return named
	}
	before, after := secrets(), secrets()
	for i := range n {
		mc := memcachedNumber(i, withMutualTLS, withUsers)
		for _, name := range []string{mc.Spec.TLS.SecretName, mc.Spec.Auth.SecretName} {
			key := client.ObjectKey{Namespace: mc.Namespace, Name: name}
			if before[key] == nil || after[key] == nil || len(before[key].Data) == 0 {
				t.Fatalf("there is no Secret %s, or it is empty", key)
			}
			for file, content := range before[key].Data {
				if bytes.Equal(content, after[key].Data[file]) {
					t.Errorf("%s in %s is the same", file, key)
				}
			}
		}
	}
	if len(before) != 2*n {
		t.Errorf("%d Secrets, want %d", len(before), 2*n)
	}
}
