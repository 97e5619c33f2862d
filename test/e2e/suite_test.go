// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package e2e tests the operator as users run it: deployed from its manifests and its image to a real cluster, where
// real memcached serves real clients.
//
// Here, a cache is a Memcached, a node is a pod that runs memcached for it, and a cluster node is a Kubernetes node.
// A proxy is a pod in front of the nodes, to which the one address of a cache leads. An agent is a container that runs beside memcached: it delivers Secrets and serves
// metrics. The parent of memcached starts it in the pods of a StatefulSet, and restarts it in place.
//
// "make test-e2e" runs the tests on the cluster of KUBECONFIG, or on a local cluster that it starts.
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
	// operatorImage is the image that "make deploy" deploys.
	operatorImage = os.Getenv("IMG")
	// upgradedImage is another build of the operator, for upgrades.
	upgradedImage = os.Getenv("E2E_UPGRADED_IMG")
	// clusterDir holds the files of the local cluster, such as its audit log. It is empty on any other cluster.
	clusterDir = os.Getenv("E2E_CLUSTER_DIR")
)

const (
	// onLocalCluster labels specs that need the local cluster: its audit log, its processes or its pod network.
	onLocalCluster = "local-cluster"
	// The Deployment that "make deploy" installs.
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

	// At the end, the suite runs "make undeploy-all", which deletes every Memcached of the cluster.
	err := k8s.Get(ctx, client.ObjectKey{Name: "memcacheds.cache.example.com"}, &apiextensionsv1.CustomResourceDefinition{})
	Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the cluster must not have the operator yet: %v", err)

	deploy(ctx, operatorImage)
	DeferCleanup(func(ctx SpecContext) {
		k8s.Make(ctx, "undeploy-all", "CONFIRM=yes")
	})
})

// deploy installs the operator or changes its image, and waits until the new operator is ready. It returns the output of make.
func deploy(ctx context.Context, image string) string {
	GinkgoHelper()
	return k8s.Make(ctx, "deploy", "IMG="+image)
}

// diagnostics returns the arguments of the kubectl commands that print objects, conditions, events and logs after a failure.
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
