// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olm

// Package olm tests the operator's OLM package as users install it. A real Operator Lifecycle Manager installs, upgrades and
// uninstalls the operator on a real cluster, where memcached serves clients. A story is a spec, or all specs of an Ordered container.
//
// make test-olm starts a local cluster, and runs the tests on it.
package olm

import (
	"context"
	"os"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/example/memcached-operator/test/clustertest"
)

// The versions and images under test. The Makefile sets the environment variables.
var (
	version       = os.Getenv("VERSION")
	nextVersion   = os.Getenv("NEXT_VERSION")
	operatorImage = os.Getenv("IMG")
	bundleImage   = os.Getenv("BUNDLE_IMG")
	catalogImage  = os.Getenv("CATALOG_IMG")
)

var k8s *clustertest.Cluster

func TestOLM(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "The Memcached operator under the Operator Lifecycle Manager")
}

var _ = BeforeSuite(func() {
	k8s = clustertest.Connect("make test-olm", []string{"VERSION", "NEXT_VERSION", "IMG", "BUNDLE_IMG", "CATALOG_IMG"},
		operatorsv1.AddToScheme, operatorsv1alpha1.AddToScheme)
	k8s.Diagnostics = diagnostics
})

func diagnostics(namespace string) []string {
	return []string{
		"get --namespace " + namespace +
			" memcached,deployment,pod,job,subscription,installplan,clusterserviceversion,operatorgroup -o wide",
		"describe --namespace " + namespace + " subscription,clusterserviceversion,memcached,pod",
		"events --namespace " + namespace,
		"logs --namespace " + namespace + " --selector control-plane=controller-manager --prefix --tail=100",
		"get --namespace " + olmNamespace + " catalogsource,job,pod -o wide",
		"logs --namespace " + olmNamespace + " deployment/catalog-operator --tail=50",
		"logs --namespace " + olmNamespace + " deployment/olm-operator --tail=50",
	}
}

// beginStory fails if cluster-scoped objects of the operator exist. After the story, it deletes the Operator object and the
// CustomResourceDefinitions, and with these every cache.
func beginStory(ctx context.Context) {
	GinkgoHelper()
	Expect(remains(ctx)).To(BeEmpty())
	DeferCleanup(func(ctx SpecContext) {
		k8s.Kubectl(ctx, "delete", "customresourcedefinition", definition, "--ignore-not-found", "--timeout=1m")
		removeRest(ctx)
	})
}
