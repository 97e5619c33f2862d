// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olm

// Package olm tests the OLM package of the operator as its users meet it: a real Operator Lifecycle Manager installs,
// upgrades and uninstalls the operator on a real node, on which real memcached serves real clients. Each file is a story.
//
// make test-olm runs it on a local cluster that it starts.
package olm

import (
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// The environment says what is tested: the variables of the Makefile of the same names.
var (
	version       = os.Getenv("VERSION")
	nextVersion   = os.Getenv("NEXT_VERSION")
	operatorImage = os.Getenv("IMG")
	bundleImage   = os.Getenv("BUNDLE_IMG")
	catalogImage  = os.Getenv("CATALOG_IMG")
)

// k8s is the client of the suite, an administrator of the cluster.
var k8s client.WithWatch

func TestOLM(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "The Memcached operator under the Operator Lifecycle Manager")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultEventuallyTimeout(2 * time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	for _, variable := range []string{"VERSION", "NEXT_VERSION", "IMG", "BUNDLE_IMG", "CATALOG_IMG"} {
		Expect(os.Getenv(variable)).NotTo(BeEmpty(), "%s is not set: run make test-olm", variable)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, cachev1alpha1.AddToScheme,
		operatorsv1.AddToScheme, operatorsv1alpha1.AddToScheme, operatorsv2.AddToScheme,
	} {
		Expect(add(scheme)).To(Succeed())
	}
	config, err := ctrl.GetConfig()
	Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	k8s, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	witnessImages(ctx)
})

// beginStory comes first in every story: it begins on a cluster that has nothing of the operator, and leaves it like that.
func beginStory(ctx context.Context) {
	GinkgoHelper()
	Expect(remains(ctx)).To(BeEmpty())
	DeferCleanup(func(ctx SpecContext) {
		removeDefinition(ctx)
		removeRest(ctx)
	})
}
