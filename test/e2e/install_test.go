// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/example/memcached-operator/test/traffic"
)

var _ = Describe("A user installs the operator and uses a Memcached", func() {
	It("serves clients as soon as kubectl says that it is Ready", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		mc := newMemcached(ctx, namespace, 3)
		Expect(mc.Status.Nodes).To(HaveLen(3))
		cache := newClient(serversOf(ctx, mc))
		Expect(cache.Write(ctx, 1000, 100)).To(Succeed())
		Expect(cache.Read(ctx, 1000)).To(Equal(traffic.Hits{Keys: 1000, Hits: 1000}))
		Expect(lookup(ctx, "cache."+namespace+".svc.cluster.local")).To(HaveLen(3))
	})
})
