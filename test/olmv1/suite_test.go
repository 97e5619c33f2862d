// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olmv1

// Package olmv1 tests the operator as an extension of OLM v1: it applies the very manifests of docs/operations/install.md on a
// real node, on which real memcached serves real clients. Each Describe is a story.
//
// make test-olm-v1 runs it on a local cluster that it starts.
package olmv1

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// The versions of the checkout and after it: the variables of the Makefile of the same names.
var version, nextVersion = os.Getenv("VERSION"), os.Getenv("NEXT_VERSION")

// k8s is the client of the suite, an administrator of the cluster.
var k8s client.Client

func TestOLMV1(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "The Memcached operator as an extension of OLM v1")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultEventuallyTimeout(2 * time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	for _, variable := range []string{"VERSION", "NEXT_VERSION"} {
		Expect(os.Getenv(variable)).NotTo(BeEmpty(), "%s is not set: run make test-olm-v1", variable)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, cachev1alpha1.AddToScheme,
	} {
		Expect(add(scheme)).To(Succeed())
	}
	config, err := ctrl.GetConfig()
	Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	k8s, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	apply(ctx, documented("Namespace"))
})
