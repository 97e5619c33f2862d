// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/docs"
	"github.com/example/memcached-operator/test/traffic"
)

// usedKeys is how many keys a client uses in a round.
const usedKeys = 100

// The user runs the commands of docs/operations/tls.md, and the clients use the code of docs/clients.md.
var _ = Describe("A user who moves the clients of a cache to TLS", Label(onLocalCluster), func() {
	It("does so in three steps, and every client is served throughout", SpecTimeout(8*time.Minute), func(ctx SpecContext) {
		m := newMove(ctx)
		plain := m.client(ctx, "without TLS", m.blocks["python"], m.blocks["pymemcache"])

		By("enabling TLS beside plaintext")
		plain.mustBeServed(ctx, func() { m.step(ctx, 1) })
		for _, pod := range k8s.Pods(ctx, m.mc) {
			Expect(m.mayEnter(ctx, m.address(&pod), m.member)).To(Succeed())
			mustRefusePlaintext(ctx, &pod)
			m.mustRefuseTLS(ctx, traffic.Address(&pod))
		}

		By("moving the clients")
		encrypted := m.client(ctx, "with TLS", m.blocks["python"], m.blocks["pymemcache"],
			m.mounted(m.member.identity, m.blocks["tls"]))
		for range 10 {
			for _, client := range []*guideClient{plain, encrypted} {
				Expect(client.use(usedKeys)).To(Equal(all(usedKeys)), client.name)
			}
		}

		By("disabling plaintext")
		encrypted.mustBeServed(ctx, func() { m.step(ctx, 2) })
		for _, pod := range k8s.Pods(ctx, m.mc) {
			_, err := traffic.Connect(ctx, k8s.Dial, traffic.Address(&pod))
			Expect(err).To(MatchError(ContainSubstring("refused")), "plaintext")
		}
		m.private.mustStayPrivate(ctx, m.mc.Namespace)
	})
})

// tlsMove is a cache whose clients move to TLS.
type tlsMove struct {
	*secured

	// blocks are the named blocks of code for clients. steps are the commands of docs/operations/tls.md.
	blocks map[string]string
	steps  []string
}

// newMove creates a cache without TLS, and the Secret for TLS. Deleted nodes serve for 35 seconds, so that all
// clients notice the deletion in time.
func newMove(ctx context.Context) *tlsMove {
	GinkgoHelper()
	m := &tlsMove{blocks: guideBlocks()}
	page := docs.Parse("docs/operations/tls.md", []byte(clustertest.Read("docs/operations/tls.md")))
	for _, block := range page.Blocks {
		if block.Section == "move-clients-to-tls" {
			m.steps = append(m.steps, block.Text)
		}
	}
	Expect(m.steps).To(HaveLen(2), "blocks of %s that change the Memcached", page.Path)
	m.secured = newSecured(ctx, k8s.NewNamespace(ctx), 2, clustertest.Named("sessions"), func(mc *cachev1alpha1.Memcached) {
		mc.Spec.GracefulShutdown.PreStopDelaySeconds = ptr.To[int32](35)
	})
	m.addPair(ctx)
	k8s.UntilReady(ctx, m.mc)
	return m
}

// client starts a client with pymemcache, from blocks of docs/clients.md. The client finds the nodes by the name of the Service.
func (m *tlsMove) client(ctx context.Context, name string, blocks ...string) *guideClient {
	GinkgoHelper()
	client := newGuideClient(ctx, "pymemcache "+name, "MEMCACHED_SERVICE="+serviceOf(m.mc), "test/e2e/clients/driver.py",
		patiently(strings.Join(blocks, "\n\n")))
	Expect(client.use(usedKeys)).To(Equal(all(usedKeys)), client.name)
	return client
}

// step runs the commands of a step, and waits until the Memcached is Ready. The commands must replace every node.
func (m *tlsMove) step(ctx context.Context, number int) {
	GinkgoHelper()
	before := k8s.Incarnations(ctx, m.mc)
	const command = "kubectl patch memc sessions "
	Expect(m.steps[number-1]).To(ContainSubstring(command))
	k8s.Run(ctx, "bash", "-euc", strings.ReplaceAll(m.steps[number-1], command, command+"--namespace "+m.mc.Namespace+" "))
	Expect(k8s.Reread(ctx, m.mc)).To(Succeed())
	Eventually(ctx, func(g Gomega) { // one node after the other serves for 35 seconds and is replaced
		g.Expect(k8s.Condition(ctx, g, m.mc, cachev1alpha1.ConditionReady).Status).To(Equal(metav1.ConditionTrue))
	}).WithTimeout(3 * time.Minute).Should(Succeed())
	for name, after := range k8s.Incarnations(ctx, m.mc) {
		Expect(after.Pod).NotTo(Equal(before[name].Pod), "each node is replaced")
	}
}

// mustRefuseTLS fails if a node speaks TLS at its plaintext port. memcached takes the handshake for an unknown
// command, or waits for the rest of a command.
func (s *secured) mustRefuseTLS(ctx context.Context, address string) {
	GinkgoHelper()
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := dialTLS(limited, address, s.config(s.member))
	Expect(err).To(MatchError(MatchRegexp("does not look like a TLS handshake|timeout|deadline exceeded|" + closed)))
}

// mustBeServed calls the function "what", and fails unless every request of the client succeeds meanwhile.
func (c *guideClient) mustBeServed(ctx context.Context, what func()) {
	GinkgoHelper()
	var seen []outcome
	stop := clustertest.InBackground(ctx, func(ctx context.Context) {
		defer GinkgoRecover()
		clustertest.Every(ctx, guidePeriod, func() { seen = append(seen, c.use(usedKeys)) })
	})
	what()
	stop()
	Expect(len(seen)).To(BeNumerically(">", 3), "rounds of %s", c.name)
	failed := slices.DeleteFunc(seen, func(round outcome) bool { return round == all(usedKeys) })
	Expect(failed).To(BeEmpty(), "rounds of %s that were not served", c.name)
}
