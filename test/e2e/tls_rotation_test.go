// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/credentials"
	"github.com/example/memcached-operator/test/traffic"
)

const (
	// kubeletSync is longer than a kubelet takes to put a changed Secret into the pods.
	kubeletSync = 3 * time.Minute
	busyMachine = 20 * time.Second
)

// Reasons for a restart that agents report.
const (
	caRemoved          = "ca_removed"
	certificateRemoved = "certificate_removed"
	userRemoved        = "user_removed"
)

// rotation is a cache whose Secrets change, and the applications that use it.
type rotation struct {
	*secured

	pods    []corev1.Pod
	before  map[string]clustertest.Incarnation
	traffic *steadyTraffic
	// batch is a user who is added and later removed. held are its connections.
	batch visitor
	held  []*traffic.Conn
	// partner has a certificate of the CA in the field other. This CA is added and later removed.
	partner visitor
	other   *credentials.Authority
}

func newRotation(ctx context.Context) *rotation {
	GinkgoHelper()
	r := &rotation{other: clustertest.Must(credentials.NewAuthority("partner"))}
	r.secured = newSecured(ctx, k8s.NewNamespace(ctx), 3, inFile, mutualTLS, withUsers)
	r.batch = visitor{r.member.identity, "batch", "the-only-password-of-batch"}
	r.partner = visitor{clustertest.Must(r.other.User("application")), r.reader.user, r.reader.password}
	k8s.UntilReady(ctx, r.mc)
	r.pods = k8s.Pods(ctx, r.mc)
	return r
}

// use starts an application that reads all keys again and again. It also writes, on connections that stay open.
func (r *rotation) use(ctx context.Context) {
	GinkgoHelper()
	r.traffic = &steadyTraffic{cache: r.newClient(ctx, r.reader), keys: filledKeys}
	clustertest.MustStore(ctx, r.traffic.cache, filledKeys)
	open := r.open(ctx, r.member)
	r.traffic.write = func(ctx context.Context) error {
		for _, conn := range open {
			if reply, err := conn.Command(ctx, "set open 0 0 2\r\nok"); err != nil {
				return err
			} else if reply != "STORED" {
				return fmt.Errorf("the reply on an open connection is %q", reply)
			}
		}
		return nil
	}
	r.before = k8s.Incarnations(ctx, r.mc)
	r.traffic.start(ctx)
}

// open opens a connection to each node, with the credentials of a visitor, until the spec ends.
func (r *rotation) open(ctx context.Context, v visitor) []*traffic.Conn {
	GinkgoHelper()
	var open []*traffic.Conn
	for _, pod := range r.pods {
		conn := clustertest.Must(r.visit(ctx, r.address(&pod), v))
		DeferCleanup(func() { _ = conn.Close() })
		open = append(open, conn)
	}
	return open
}

// adds changes the certificate of the nodes, and adds a user and a CA of clients.
func (r *rotation) adds(ctx context.Context) {
	GinkgoHelper()
	Expect(r.mayEnter(ctx, r.address(&r.pods[0]), r.partner)).To(MatchError(MatchRegexp(unknownAuthority)), "before its CA is there")
	r.changes(ctx, "a new certificate of the nodes, another CA of clients, and a user more", func() {
		r.put(ctx, r.pair, r.newPair(r.authority, r.other))
		r.put(ctx, r.users, logins(r.member, r.reader, r.batch))
	}, func(address string) error {
		shown, err := r.shown(ctx, address)
		if err == nil && shown != r.serial() {
			err = fmt.Errorf("the certificate is %s", shown)
		}
		return errors.Join(err, r.mayEnter(ctx, address, r.batch), r.mayEnter(ctx, address, r.partner), r.mayEnter(ctx, address, r.member))
	})
	r.untilReported(ctx, r.pods)
	r.held = r.open(ctx, r.batch)
}

// removes removes a CA and a user, and changes a password. Logins with a removed user or password fail at once. The
// removed CA and open connections work until a restart. The agents report that a restart is required, and spec.paused holds it.
func (r *rotation) removes(ctx context.Context) {
	GinkgoHelper()
	k8s.Change(ctx, r.mc, func() { r.mc.Spec.Paused = true })
	former := r.member
	r.member.password = "the-second-password-of-web"
	r.changes(ctx, "a CA and a user less, and another password", func() {
		r.put(ctx, r.pair, r.with(map[string][]byte{"ca.crt": bundle(r.authority)}))
		r.put(ctx, r.users, logins(r.member, r.reader))
	}, func(address string) error {
		for _, gone := range []visitor{former, r.batch} {
			if err := r.mayEnter(ctx, address, gone); err == nil {
				return fmt.Errorf("%s may still enter", gone.user)
			} else if !strings.Contains(err.Error(), loginRefused) {
				return err
			}
		}
		return r.mayEnter(ctx, address, r.member)
	})
	r.untilReported(ctx, r.pods, caRemoved, userRemoved)
	for i, pod := range r.pods {
		Expect(r.mayEnter(ctx, r.address(&pod), r.partner)).To(Succeed(), "the CA that memcached cannot forget")
		Expect(r.held[i].Command(ctx, "mn")).To(Equal("MN"), "an open connection of the user who is gone")
	}
}

// mustHaveLostNothing fails if a request failed, a key was lost or a container restarted since the traffic began.
func (r *rotation) mustHaveLostNothing(ctx context.Context) {
	GinkgoHelper()
	r.traffic.stop()
	Expect(r.traffic.firstFailure()).To(BeEmpty(), "every request must be served")
	Expect(r.traffic.rounds).To(BeNumerically(">", 10))
	Expect(k8s.Incarnations(ctx, r.mc)).To(Equal(r.before), "pods and restarts")
}

// forgets lets the operator restart the nodes, in place. They keep their keys, and no longer admit the removed CA and user.
func (r *rotation) forgets(ctx context.Context) {
	GinkgoHelper()
	k8s.Change(ctx, r.mc, func() { r.mc.Spec.Paused = false })
	for _, held := range r.held {
		Eventually(ctx, func() error {
			_, err := held.Command(ctx, "mn")
			return err
		}).WithTimeout(kubeletSync).Should(HaveOccurred(), "the connection of the user who is gone")
	}
	k8s.UntilReady(ctx, r.mc)
	Expect(k8s.Incarnations(ctx, r.mc)).To(Equal(r.before), "pods and restarts")
	clustertest.MustFind(ctx, r.newClient(ctx, r.reader), filledKeys)
	for _, pod := range r.pods {
		address := r.address(&pod)
		Expect(r.mayEnter(ctx, address, r.member)).To(Succeed())
		Expect(r.mayEnter(ctx, address, r.partner)).To(MatchError(MatchRegexp(unknownAuthority)), "a certificate of the removed CA")
		Expect(r.mayEnter(ctx, address, r.batch)).To(MatchError(ContainSubstring(loginRefused)))
	}
	r.untilReported(ctx, r.pods)
}

// changes calls the function change, which must modify Secrets. It waits until the function seen succeeds for the address of each node.
func (r *rotation) changes(ctx context.Context, title string, change func(), seen func(address string) error) {
	GinkgoHelper()
	By(title)
	change()
	for _, pod := range r.pods {
		Eventually(ctx, seen).WithArguments(r.address(&pod)).WithTimeout(kubeletSync).Should(Succeed(), pod.Name)
	}
}

func (s *secured) shown(ctx context.Context, address string) (string, error) {
	conn, err := dialTLS(ctx, address, s.config(s.member))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return serialOf(conn.(*tls.Conn).ConnectionState().PeerCertificates[0]), nil
}

// with returns the content of the Secret for TLS. Values in the map other replace the values with the same keys.
func (s *secured) with(other map[string][]byte) map[string][]byte {
	content := maps.Clone(s.pair.Data)
	maps.Copy(content, other)
	return content
}

// untilReported waits until the agents of the pods report that memcached serves the certificate in the Secret, and
// that a restart is required for exactly these reasons.
func (r *rotation) untilReported(ctx context.Context, pods []corev1.Pod, reasons ...string) {
	GinkgoHelper()
	lines := []types.GomegaMatcher{
		ContainSubstring("\nmemcached_agent_reload_success 1\n"),
		ContainSubstring(`memcached_agent_certificate_info{serial="` + r.serial() + `"} 1`),
	}
	for _, reason := range []string{caRemoved, certificateRemoved, userRemoved} {
		required := 0
		if slices.Contains(reasons, reason) {
			required = 1
		}
		lines = append(lines, ContainSubstring(fmt.Sprintf("\nmemcached_agent_restart_required{reason=%q} %d\n", reason, required)))
	}
	for _, pod := range pods {
		Eventually(ctx, func() string { return scrape(ctx, agentOf(&pod)) }).Should(And(lines...))
	}
}
