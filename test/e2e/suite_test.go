// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package e2e tests the operator as its users meet it: deployed from its manifests and its image to a cluster with real
// nodes, on which real memcached serves real clients. Each file is a story of a user.
//
// make test-e2e runs it on a local cluster that it starts, or on the one that KUBECONFIG names.
package e2e

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// The environment says what is tested, and where.
var (
	// operatorImage is what make deploy deploys.
	operatorImage = os.Getenv("IMG")
	// upgradedImage is another build of the operator, for the stories of its upgrade.
	upgradedImage = os.Getenv("E2E_UPGRADED_IMG")
	// clusterDir holds the files of the local cluster, its audit log among them. It is empty on any other cluster.
	clusterDir = os.Getenv("E2E_CLUSTER_DIR")
)

// onLocalCluster labels what needs more than an API: the audit log, or the processes of the node.
const onLocalCluster = "local-cluster"

// The clients of the suite, an administrator of the cluster.
var (
	config *rest.Config
	k8s    client.WithWatch
)

func TestEndToEnd(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "The Memcached operator on a real cluster")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultEventuallyTimeout(2 * time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	Expect(operatorImage).NotTo(BeEmpty(), "IMG must name the image of the operator: run make test-e2e")

	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	Expect(cachev1alpha1.AddToScheme(scheme)).To(Succeed())
	var err error
	config, err = ctrl.GetConfig()
	Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	k8s, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())

	// The suite ends with make undeploy, which deletes every Memcached of the cluster.
	err = k8s.Get(ctx, client.ObjectKey{Name: "memcacheds.cache.example.com"}, &apiextensionsv1.CustomResourceDefinition{})
	Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the cluster must not have the operator yet: %v", err)

	deploy(ctx, operatorImage)
	DeferCleanup(func(ctx SpecContext) {
		makeTarget(ctx, "undeploy", "IMG="+operatorImage, "ignore-not-found=true")
	})
})
