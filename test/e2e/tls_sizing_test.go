// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"net"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

// TLS needs more memory, because OpenSSL has buffers for each connection.
var _ = Describe("The memory limit of a node with TLS", Label(onLocalCluster), func() {
	It("is enough for 4,096 connections with certificates and logins, and all that they may give the node", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		const connections = 4096
		s := newSecured(ctx, k8s.NewNamespace(ctx), 1, mutualTLS, withUsers, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Config.MaxConnections = connections
		})
		k8s.UntilReady(ctx, s.mc)
		pod := k8s.Pods(ctx, s.mc)[0]
		filled := fillNode(ctx, s.mc, s.address(&pod), func(ctx context.Context, _, address string) (net.Conn, error) {
			return s.enter(ctx, address, s.member)
		})
		Expect(filled.Connections).To(Equal(connections))

		node := clustertest.Must(s.visit(ctx, s.address(&pod), s.member))
		defer node.Close()
		stats := clustertest.Must(node.Stats(ctx))
		peak := peakOf(ctx, &pod)
		clustertest.AddTable("Peak memory of a full node with all its TLS connections", [][]string{
			{"MiB", "limit", "process (VmHWM)", "container (cgroup)", "limit/process", "connections", "rejected_connections", "sets", "evictions"},
			peak.row(strconv.Itoa(connections)+" TLS connections", filled, stats["rejected_connections"]),
		})
		Expect(k8s.Reread(ctx, &pod)).To(Succeed())
		Expect(clustertest.Restarts(&pod)).To(BeZero())
		Expect(pod.Status.ContainerStatuses[0].LastTerminationState.Terminated).To(BeNil())
		Expect(peak.process).To(BeNumerically("<", peak.limit))
		Expect(peak.container).To(BeNumerically("<", peak.limit), "the container has hit its limit")
		s.private.mustStayPrivate(ctx, s.mc.Namespace)
	})
})
