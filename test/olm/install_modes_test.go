// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olm

package olm

import (
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// The indexes of the namespaces of a story. The operator runs in the namespace with the index own.
const (
	own = iota
	first
	second
	numberOfNamespaces
)

var _ = DescribeTable("An install mode says which namespaces the operator serves",
	func(ctx SpecContext, targets, served []int) {
		beginStory(ctx)
		namespaces := make([]string, numberOfNamespaces)
		for i := range namespaces {
			namespaces[i] = k8s.NewNamespace(ctx)
		}
		newCatalog(ctx, catalogImage)
		var scope []string
		for _, target := range targets {
			scope = append(scope, namespaces[target])
		}
		newScope(ctx, namespaces[own], scope...)
		subscribe(ctx, namespaces[own], stableChannel, operatorsv1alpha1.ApprovalAutomatic)
		untilInstalled(ctx, namespaces[own], version)

		var caches []*cachev1alpha1.Memcached
		for _, namespace := range namespaces {
			caches = append(caches, k8s.CreateMemcached(ctx, namespace, 1))
		}
		for _, i := range served {
			k8s.UntilReady(ctx, caches[i])
			k8s.MustServe(ctx, caches[i], 100)
		}
		for i, mc := range caches {
			if !slices.Contains(served, i) {
				mustBeUntouched(ctx, mc, namespaces[own])
			}
		}
		uninstall(ctx, namespaces[own], version)
	},
	Entry("AllNamespaces", SpecTimeout(3*time.Minute), nil, []int{own, first, second}),
	Entry("OwnNamespace", SpecTimeout(3*time.Minute), []int{own}, []int{own}),
	Entry("SingleNamespace", SpecTimeout(3*time.Minute), []int{first}, []int{first}),
)

// mustBeUntouched fails if the operator has reconciled a Memcached, or may write Deployments in the namespace of the Memcached.
// operators is the namespace of the operator.
func mustBeUntouched(ctx SpecContext, mc *cachev1alpha1.Memcached, operators string) {
	GinkgoHelper()
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(mc), mc)).To(Succeed())
	Expect(mc.Status.ObservedGeneration).To(Equal(int64(-1)))
	Expect(k8s.Kubectl(ctx, "get", "deployment,service,poddisruptionbudget,networkpolicy,pod", "--namespace", mc.Namespace,
		"--selector", "app.kubernetes.io/instance="+mc.Name, "--output=name")).To(BeEmpty())
	if mc.Namespace == operators {
		return // OLM always grants the permissions in the operator's own namespace
	}
	answer, err := k8s.TryKubectl(ctx, "auth", "can-i", "patch", "deployments.apps", "--namespace", mc.Namespace,
		"--as", "system:serviceaccount:"+operators+":"+operatorDeployment)
	Expect(err).To(HaveOccurred())
	Expect(answer).To(HavePrefix("no"))
}
