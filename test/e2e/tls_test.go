// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/credentials"
	"github.com/example/memcached-operator/test/traffic"
)

// The clients connect directly to the pods, as applications in the cluster do.
var _ = Describe("A cache with TLS, certificates of clients and users", Label(onLocalCluster), func() {
	It("serves only who may, takes what is added without a restart, and says when it needs one", clustertest.Core, SpecTimeout(10*time.Minute), func(ctx SpecContext) {
		r := newRotation(ctx)
		r.refusesOthers(ctx)
		r.servesLibraries(ctx)

		By("changing the Secrets while all keys are read, and connections stay open")
		r.use(ctx)
		r.adds(ctx)
		r.removes(ctx)
		r.mustHaveLostNothing(ctx)

		By("letting the operator restart the nodes in place, which forget what was removed, and keep their keys")
		r.forgets(ctx)
	})
})

// Errors of clients that memcached refuses. memcached may close the connection before the client reads the reason.
const (
	closed           = "connection reset|broken pipe|EOF"
	unknownAuthority = "unknown certificate authority|" + closed
	loginRefused     = "CLIENT_ERROR authentication failure"
)

// refusesOthers checks that a node refuses plaintext, and clients without valid credentials.
func (s *secured) refusesOthers(ctx context.Context) {
	GinkgoHelper()
	By("refusing everybody else")
	pod := k8s.Pods(ctx, s.mc)[0]
	address := s.address(&pod)
	Expect(s.mayEnter(ctx, address, s.member)).To(Succeed(), "who may")
	as := func(identity credentials.Identity) visitor {
		return visitor{identity: identity, user: s.member.user, password: s.member.password}
	}
	stranger := clustertest.Must(clustertest.Must(credentials.NewAuthority("another shop")).User("application"))
	for who, try := range map[string]struct {
		visitor visitor
		problem string
	}{
		"a client without a certificate":     {as(credentials.Identity{}), "certificate required|" + closed},
		"a certificate of another authority": {as(stranger), unknownAuthority},
		"a user with another password": {
			visitor{s.member.identity, s.member.user, "a-password-of-nobody"}, loginRefused,
		},
		"a client that does not log in": {visitor{identity: s.member.identity}, "CLIENT_ERROR unauthenticated|" + closed},
	} {
		Expect(s.mayEnter(ctx, address, try.visitor)).To(MatchError(MatchRegexp(try.problem)), who)
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	reply, err := k8s.ConnectTo(ctx, address).Command(limited, "version")
	Expect(err).To(MatchError(MatchRegexp(closed)), "plaintext to the port of TLS: %s", reply)
	_, err = dialTLS(ctx, traffic.Address(&pod), s.config(s.member))
	Expect(err).To(MatchError(ContainSubstring("refused")), "TLS to the port of plaintext, which is closed outside the pod")
}
