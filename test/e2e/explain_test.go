// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
)

// explain prints what a person would look at after a failure in a namespace: objects, conditions, events and logs.
func explain(ctx context.Context, namespace string) {
	GinkgoHelper()
	for _, command := range [][]string{
		{"get", "--namespace", namespace, "memcached,deployment,replicaset,pod,service,poddisruptionbudget,endpointslice", "-o", "wide"},
		{"describe", "--namespace", namespace, "memcached,pod"},
		{"events", "--namespace", namespace},
		{"logs", "--namespace", namespace, "--selector", "app.kubernetes.io/name=memcached", "--prefix", "--tail=50"},
		{"describe", "--namespace", operatorNamespace, "pod"},
		{"logs", "--namespace", operatorNamespace, "deployment/" + operatorDeployment, "--all-pods", "--tail=100"},
	} {
		output, err := tryKubectl(ctx, command...)
		if err != nil {
			output += err.Error()
		}
		GinkgoWriter.Println(output)
	}
}
