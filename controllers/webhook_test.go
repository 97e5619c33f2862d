// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/testenv/suite"
)

var _ = Describe("An admission webhook in the way", func() {
	It("is quoted when it refuses and when it cannot be called, and recovered from", func(ctx SpecContext) {
		o := newOperator(defaults)
		mc := newMemcached(ctx, 1)
		server := httptest.NewTLSServer(answering(func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: "only on Tuesdays"}}
		}))
		webhook := validateServices(ctx, mc.Namespace, server)
		refused := func() error { return user.Create(ctx, probe(mc), client.DryRunAll) }
		Eventually(ctx, refused).Should(MatchError(ContainSubstring("only on Tuesdays")))

		Expect(o.try(ctx, mc, writeService+" (400)", writeBudget, writeDeployment, writeStatus)).To(HaveOccurred())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/AdmissionDenied"))
		Expect(message(ctx, mc, "Degraded")).To(ContainSubstring("only on Tuesdays"))

		server.Close()
		Expect(o.try(ctx, mc, writeService+" (500)", writeStatus)).To(HaveOccurred())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/AdmissionDenied"))
		Expect(message(ctx, mc, "Degraded")).To(ContainSubstring("failed calling webhook"))

		Expect(user.Delete(ctx, webhook)).To(Succeed())
		Eventually(ctx, refused).Should(Succeed())
		o.step(ctx, mc, writeService, writeStatus)
		Expect(summary(ctx, mc, "Degraded")).To(Equal("False/AsExpected"))
	})
})

var _ = Describe("A webhook that does not answer", func() {
	It("delays nobody but those whose namespace has it", func(ctx SpecContext) {
		const hanging = 20
		asked, released := make(chan struct{}, 10*hanging), make(chan struct{})
		var probed, gaveUp atomic.Int32
		server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
			var review admissionv1.AdmissionReview
			if err := json.NewDecoder(request.Body).Decode(&review); err != nil || !strings.HasPrefix(review.Request.Name, "hangs-") {
				probed.Add(1)
				return
			}
			asked <- struct{}{}
			select {
			case <-released:
			case <-request.Context().Done():
				gaveUp.Add(1)
			}
		}))
		DeferCleanup(server.Close)
		release := sync.OnceFunc(func() { close(released) })
		DeferCleanup(release)
		namespace := suite.NewNamespace(ctx, user)
		webhook := validateServices(ctx, namespace, server)
		change(ctx, webhook, func(w *admissionregistrationv1.ValidatingWebhookConfiguration) {
			w.Webhooks[0].TimeoutSeconds = ptr.To(int32(30))
		})
		Eventually(ctx, func() int32 {
			_ = user.Create(ctx, probe(&cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}), client.DryRunAll)
			return probed.Load()
		}).Should(BeNumerically(">", 0), "the API server has heard of the webhook when it asks it")

		start(ctx, "", 0)
		for i := range hanging {
			mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("hangs-%d", i)}}
			mc.Spec.Size = 1
			Expect(user.Create(ctx, mc)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(user.Delete(ctx, mc))).To(Succeed()) })
		}
		for range hanging { // the webhook has received all these requests, and answered none
			Eventually(ctx, asked).Should(Receive())
		}
		healthy := newMemcached(ctx, 1)
		Eventually(ctx, func() error {
			return user.Get(ctx, client.ObjectKeyFromObject(healthy), &appsv1.Deployment{})
		}).Should(Succeed())
		Expect(gaveUp.Load()).To(BeZero(), "the healthy one has waited until the API server gave up to ask")
		release()
	})
})

// answering returns the handler of a webhook. It answers each admission request with the result of the function answer.
func answering(answer func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = answer(review.Request)
		review.Response.UID = review.Request.UID
		writer.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(writer).Encode(review); err != nil {
			http.Error(writer, err.Error(), http.StatusInternalServerError)
		}
	}
}

// validateServices installs a webhook that asks a server whether the API server may create a Service in a namespace.
func validateServices(
	ctx context.Context, namespace string, server *httptest.Server,
) *admissionregistrationv1.ValidatingWebhookConfiguration {
	GinkgoHelper()
	webhook := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	webhook.Webhooks = []admissionregistrationv1.ValidatingWebhook{{
		Name:                    "tuesdays.example.com",
		ClientConfig:            clientOf(server),
		Rules:                   rulesFor("", "services", admissionregistrationv1.Create),
		NamespaceSelector:       selecting(namespace),
		SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
		AdmissionReviewVersions: []string{"v1"},
	}}
	install(ctx, webhook)
	return webhook
}

func rewriteImages(ctx context.Context, namespace string) client.Object {
	GinkgoHelper()
	return patchDeployments(ctx, namespace, func(*admissionv1.AdmissionRequest) string {
		return `[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "mirror.example.com/memcached"}]`
	})
}

// patchDeployments installs a webhook that patches the Deployments of a namespace.
func patchDeployments(ctx context.Context, namespace string, patch func(*admissionv1.AdmissionRequest) string) client.Object {
	GinkgoHelper()
	server := httptest.NewTLSServer(answering(func(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{
			Allowed: true, PatchType: ptr.To(admissionv1.PatchTypeJSONPatch), Patch: []byte(patch(request)),
		}
	}))
	DeferCleanup(server.Close)
	webhook := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	webhook.Webhooks = []admissionregistrationv1.MutatingWebhook{{
		Name:                    "mirror.example.com",
		ClientConfig:            clientOf(server),
		Rules:                   rulesFor("apps", "deployments", admissionregistrationv1.Create, admissionregistrationv1.Update),
		NamespaceSelector:       selecting(namespace),
		SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
		AdmissionReviewVersions: []string{"v1"},
	}}
	install(ctx, webhook)
	return webhook
}

func clientOf(server *httptest.Server) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{
		URL:      &server.URL,
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
}

func rulesFor(
	group, resource string, operations ...admissionregistrationv1.OperationType,
) []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: operations,
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{resource},
		},
	}}
}

func selecting(namespace string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
}

func install(ctx context.Context, object client.Object) {
	GinkgoHelper()
	Expect(user.Create(ctx, object)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(user.Delete(ctx, object))).To(Succeed()) })
}
