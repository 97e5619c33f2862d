// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olm

package olm

import (
	"encoding/json"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"

	"github.com/example/memcached-operator/test/clustertest"
)

var _ = Describe("The bundle", func() {
	It("passes every test of the scorecard, which has nothing to suggest", SpecTimeout(6*time.Minute), func(ctx SpecContext) {
		namespace := k8s.NewNamespace(ctx)
		output, failure := k8s.Try(ctx, "operator-sdk", "scorecard", "bundle", "--namespace", namespace, "--wait-time", "5m",
			"--pod-security", "restricted", "--output", "json", "--untar-image", "quay.io/operator-framework/scorecard-untar:local")
		var tests v1alpha3.TestList
		Expect(json.Unmarshal([]byte(output), &tests)).To(Succeed(), "%v", failure)
		Expect(tests.Items).To(HaveLen(strings.Count(clustertest.Read("bundle/tests/scorecard/config.yaml"), "entrypoint:")))
		for _, test := range tests.Items {
			for _, result := range test.Status.Results {
				Expect(result.State).To(Equal(v1alpha3.PassState), "%s: %v", result.Name, result.Errors)
				Expect(result.Suggestions).To(BeEmpty(), result.Name)
			}
		}
		Expect(failure).NotTo(HaveOccurred())
	})
})
