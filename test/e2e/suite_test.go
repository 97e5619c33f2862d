// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package e2e tests the operator as users run it. It is deployed from its manifests and its image to a cluster with real nodes, on
// which real memcached serves real clients. Each file is a story of a user.
//
// make test-e2e runs the tests on the cluster of KUBECONFIG, or starts a local cluster for them.
package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/clustertest"
)

// Environment variables say what is tested, and where.
var (
	// operatorImage is the image that make deploy deploys.
	operatorImage = os.Getenv("IMG")
	// upgradedImage is another build of the operator, for upgrades.
	upgradedImage = os.Getenv("E2E_UPGRADED_IMG")
	// clusterDir holds the files of the local cluster, such as its audit log. It is empty on any other cluster.
	clusterDir = os.Getenv("E2E_CLUSTER_DIR")
)

const (
	// onLocalCluster labels specs that need more than an API: the audit log, or the processes of the node.
	onLocalCluster = "local-cluster"
	// make deploy installs this Deployment.
	operatorNamespace  = "memcached-operator-system"
	operatorDeployment = "memcached-operator-controller-manager"
)

// k8s is the cluster, as its administrator sees it.
var k8s *clustertest.Cluster

func TestEndToEnd(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "The Memcached operator on a real cluster")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	k8s = clustertest.Connect("make test-e2e", []string{"IMG"})
	k8s.Dial, k8s.Diagnostics = dial, diagnostics
	// kubectl finds its plugin on the PATH.
	Expect(os.Setenv("PATH", clustertest.Must(filepath.Abs("../../bin"))+":"+os.Getenv("PATH"))).To(Succeed())

	// The suite ends with make undeploy-all, which deletes every Memcached of the cluster.
	err := k8s.Get(ctx, client.ObjectKey{Name: "memcacheds.cache.example.com"}, &apiextensionsv1.CustomResourceDefinition{})
	Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the cluster must not have the operator yet: %v", err)

	deploy(ctx, operatorImage)
	DeferCleanup(func(ctx SpecContext) {
		k8s.Make(ctx, "undeploy-all", "CONFIRM=yes")
	})
})

// deploy installs the operator, or changes its image. It returns when the new operator is ready, with the output of make.
func deploy(ctx context.Context, image string) string {
	GinkgoHelper()
	return k8s.Make(ctx, "deploy", "IMG="+image)
}

// diagnostics print objects, conditions, events and logs after a failure.
func diagnostics(namespace string) []string {
	return []string{
		"get --namespace " + namespace + " memcached,deployment,replicaset,statefulset,pod,service,poddisruptionbudget,networkpolicy,endpointslice -o wide",
		"describe --namespace " + namespace + " memcached,pod",
		"events --namespace " + namespace,
		"logs --namespace " + namespace + " --selector app.kubernetes.io/name=memcached --prefix --tail=50",
		"describe --namespace " + operatorNamespace + " pod",
		"logs --namespace " + operatorNamespace + " deployment/" + operatorDeployment + " --all-pods --tail=100",
	}
}
