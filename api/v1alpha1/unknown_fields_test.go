// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("Unknown fields of a Memcached", func() {
	var memcached *unstructured.Unstructured

	BeforeEach(func() {
		memcached = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "cache.example.com/v1alpha1",
			"kind":       "Memcached",
			"metadata":   map[string]any{"namespace": metav1.NamespaceDefault, "name": "unknown-fields"},
			"spec": map[string]any{
				"size":     int64(3),
				"replicas": int64(3),
				"config":   map[string]any{"memroy": "1Gi"},
			},
			"extra": true,
		}}
	})

	It("are refused by strict validation, which is kubectl's default", func(ctx SpecContext) {
		strict := client.WithFieldValidation(k8s, metav1.FieldValidationStrict)
		Expect(strict.Create(ctx, memcached)).To(MatchError(
			`Memcached in version "v1alpha1" cannot be handled as a Memcached: strict decoding error: ` +
				`unknown field "extra", unknown field "spec.config.memroy", unknown field "spec.replicas"`))
	})

	It("are told and dropped by the API server's own default", func(ctx SpecContext) {
		warnings := &recordedWarnings{}
		config := rest.CopyConfig(restConfig)
		config.WarningHandler = warnings
		warned, err := client.New(config, client.Options{})
		Expect(err).NotTo(HaveOccurred())

		Expect(warned.Create(ctx, memcached)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, memcached)).To(Succeed()) })
		Expect(warnings.texts).To(ConsistOf(
			`unknown field "extra"`, `unknown field "spec.config.memroy"`, `unknown field "spec.replicas"`))

		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(memcached), memcached)).To(Succeed())
		Expect(memcached.Object).NotTo(HaveKey("extra"))
		Expect(memcached.Object["spec"]).To(And(HaveKeyWithValue("size", int64(3)), Not(HaveKey("replicas"))))
		Expect(memcached.Object["spec"].(map[string]any)["config"]).To(And(
			HaveKeyWithValue("memory", "64Mi"), Not(HaveKey("memroy"))))
	})

	It("are not looked for if a client does not want it, and dropped all the same", func(ctx SpecContext) {
		ignoring := client.WithFieldValidation(k8s, metav1.FieldValidationIgnore)
		Expect(ignoring.Create(ctx, memcached, client.DryRunAll)).To(Succeed())
		Expect(memcached.Object["spec"]).NotTo(HaveKey("replicas"))
	})

	It("include those given twice", func(ctx SpecContext) {
		_, err := dryRun(ctx, manifest("unknown-fields", "", `{"size": 1, "size": 2}`))
		Expect(err).To(MatchError(ContainSubstring(`duplicate field "spec.size"`)))
	})
})

type recordedWarnings struct{ texts []string }

// HandleWarningHeader implements rest.WarningHandler.
func (r *recordedWarnings) HandleWarningHeader(_ int, _, text string) {
	r.texts = append(r.texts, text)
}
