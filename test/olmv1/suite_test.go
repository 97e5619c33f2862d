// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olmv1

// Package olmv1 tests the operator as an extension of OLM v1. It applies the manifests of docs/operations/install.md on a real
// cluster, where memcached serves clients. Each Describe is a story.
//
// make test-olm-v1 starts a local cluster, and runs the tests on it.
package olmv1

import (
	"os"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/example/memcached-operator/test/clustertest"
)

// The version of the checkout, and the next version. The Makefile sets both environment variables.
var version, nextVersion = os.Getenv("VERSION"), os.Getenv("NEXT_VERSION")

var k8s *clustertest.Cluster

func TestOLMV1(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "The Memcached operator as an extension of OLM v1")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	k8s = clustertest.Connect("make test-olm-v1", []string{"VERSION", "NEXT_VERSION"})
	k8s.Diagnostics = diagnostics
	apply(ctx, documented("Namespace"))
})

func diagnostics(string) []string {
	return []string{
		"describe clustercatalogs,clusterextensions",
		"get all,memcacheds --all-namespaces --output=wide",
		"events --all-namespaces",
		"logs --namespace=" + operatorNamespace + " " + operatorDeployment + " --tail=100",
		"logs --namespace=olmv1-system deployment/catalogd-controller-manager --tail=50",
		"logs --namespace=olmv1-system deployment/operator-controller-controller-manager --tail=50",
	}
}
