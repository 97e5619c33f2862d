// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/protocol"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/credentials"
	"github.com/example/memcached-operator/test/traffic"
)

// kubeletSync is how long a kubelet takes at most to put a changed Secret into the pods, with some room.
const kubeletSync = 3 * time.Minute

// closed is what a client may notice before it reads why it is refused.
const closed = "|connection reset|broken pipe"

// The clients connect to the pods, as applications in the cluster do.
var _ = Describe("A cache with TLS, certificates of clients and users", Label(onLocalCluster), func() {
	It("serves only who may, and takes new certificates and users without a restart", SpecTimeout(12*time.Minute), func(ctx SpecContext) {
		s := newSecured(ctx)
		By("waiting for the Secrets, and saying so")
		k8s.UntilCondition(ctx, s.mc, cachev1alpha1.ConditionDegraded, And(
			HaveField("Reason", "InvalidCertificate"), HaveField("Message", ContainSubstring("tls.crt"))))
		s.begin(ctx)

		By("refusing everybody else")
		s.refusesOthers(ctx)

		By("a new certificate, and a user more, under load")
		full := s.fill(ctx)
		held := s.connect(ctx, s.addresses[0], "web")
		s.rotates(ctx)
		s.changesUsers(ctx)
		Expect(held.Command(ctx, "mn")).To(Equal("MN"), "a connection that was open all the time")

		By("content that nobody can use, which changes nothing")
		s.ignoresGarbage(ctx)
		full.mustBeUntouched(ctx, s)

		By("telling no secret to anybody")
		s.keepsSecrets(ctx)
	})
})

// begin creates the Secrets and waits until the nodes serve.
func (s *secured) begin(ctx context.Context) {
	GinkgoHelper()
	serial := s.renew()
	Expect(k8s.Create(ctx, s.pair)).To(Succeed())
	Expect(k8s.Create(ctx, s.users)).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		g.Expect(k8s.Condition(ctx, g, s.mc, cachev1alpha1.ConditionReady).Status).To(Equal(metav1.ConditionTrue))
	}).WithTimeout(kubeletSync).Should(Succeed())
	for _, pod := range k8s.Pods(ctx, s.mc) {
		s.addresses = append(s.addresses, net.JoinHostPort(pod.Status.PodIP, "11212"))
		Expect(scrape(ctx, agentOf(&pod))).To(And(
			ContainSubstring("\nmemcached_up 1\n"), ContainSubstring(`memcached_agent_certificate_info{serial="`+serial+`"} 1`)))
	}
	for i := range s.addresses {
		Expect(s.connect(ctx, s.addresses[i], "web").Command(ctx, "mn")).To(Equal("MN"))
	}
}

// refusesOthers connects as those who must not.
func (s *secured) refusesOthers(ctx context.Context) {
	GinkgoHelper()
	stranger := issueClient(clustertest.Must(credentials.NewAuthority("shop")))
	old := s.config(s.client)
	old.MinVersion, old.MaxVersion = tls.VersionTLS11, tls.VersionTLS11
	for who, try := range map[string]struct {
		config   *tls.Config
		password string
		problem  string
	}{
		"a client without a certificate":     {s.config(), s.passwords["web"], "certificate required" + closed},
		"a certificate of another authority": {s.config(stranger), s.passwords["web"], "unknown certificate authority" + closed},
		"TLS 1.1":                            {old, s.passwords["web"], "protocol version"},
		"a user with another password":       {s.config(s.client), "guessed", "CLIENT_ERROR authentication failure"},
	} {
		_, err := login(ctx, s.addresses[0], try.config, "web", try.password)
		Expect(err).To(MatchError(MatchRegexp(try.problem)), who)
	}
	plain := k8s.ConnectTo(ctx, s.addresses[0])
	_, err := plain.Command(ctx, "version")
	Expect(err).To(HaveOccurred(), "plaintext to the port of TLS")
	host, _, _ := net.SplitHostPort(s.addresses[0])
	_, err = traffic.Connect(ctx, k8s.Dial, net.JoinHostPort(host, "11211"))
	Expect(err).To(MatchError(ContainSubstring("refused")), "plaintext from outside the pod")
	conn := clustertest.Must(dialTLS(ctx, s.addresses[0], s.config(s.client)))
	defer conn.Close()
	anonymous := protocol.NewConn(conn, s.addresses[0])
	Expect(anonymous.Command(ctx, "get key-000001")).To(Equal("CLIENT_ERROR unauthenticated"))
}

// filled is what must survive.
type filled struct {
	client *traffic.Client
	pods   map[string]clustertest.Incarnation
	stop   func()
	misses func() int
}

const securedKeys = 2000

// fill writes keys, and reads them again and again from now on.
func (s *secured) fill(ctx context.Context) *filled {
	GinkgoHelper()
	var servers []traffic.Server
	for i, address := range s.addresses {
		servers = append(servers, traffic.Server{Name: fmt.Sprint("node-", i), Address: address})
	}
	config, password := s.config(s.client), s.passwords["web"]
	dial := func(ctx context.Context, _, address string) (net.Conn, error) {
		return login(ctx, address, config, "web", password)
	}
	f := &filled{client: traffic.NewClient(clustertest.Must(traffic.NewRing(servers...)), dial), pods: k8s.Incarnations(ctx, s.mc)}
	DeferCleanup(f.client.Close)
	clustertest.MustStore(ctx, f.client, securedKeys)
	missing := 0
	f.stop = clustertest.InBackground(ctx, func(ctx context.Context) {
		clustertest.Every(ctx, roundPeriod, func() {
			if hits, err := f.client.Read(ctx, securedKeys); err == nil {
				missing += hits.Keys - hits.Hits
			}
		})
	})
	f.misses = func() int { f.stop(); return missing }
	return f
}

// mustBeUntouched fails if a request failed, a key is lost or a pod restarted.
func (f *filled) mustBeUntouched(ctx context.Context, s *secured) {
	GinkgoHelper()
	Expect(f.misses()).To(BeZero())
	clustertest.MustFind(ctx, f.client, securedKeys)
	Expect(k8s.Incarnations(ctx, s.mc)).To(Equal(f.pods))
}

// rotates renews the certificate, and waits until each node shows it.
func (s *secured) rotates(ctx context.Context) {
	GinkgoHelper()
	began, serial := time.Now(), s.renew()
	Expect(k8s.Update(ctx, s.pair)).To(Succeed())
	for _, address := range s.addresses {
		Eventually(ctx, func() (string, error) {
			conn, err := dialTLS(ctx, address, s.config(s.client))
			if err != nil {
				return "", err
			}
			defer conn.Close()
			return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Text(16), nil
		}).WithTimeout(kubeletSync).Should(Equal(serial))
	}
	AddReportEntry("a new certificate is served after", seconds(time.Since(began)), ReportEntryVisibilityAlways)
}

// changesUsers adds a user, who can log in to each node when the agents have told memcached.
func (s *secured) changesUsers(ctx context.Context) {
	GinkgoHelper()
	s.setPasswords(map[string]string{"web": "the-first-password", "batch": "the-second-password"})
	Expect(k8s.Update(ctx, s.users)).To(Succeed())
	for _, address := range s.addresses {
		Eventually(ctx, func() error {
			conn, err := login(ctx, address, s.config(s.client), "batch", s.passwords["batch"])
			if err == nil {
				err = conn.Close()
			}
			return err
		}).WithTimeout(kubeletSync).Should(Succeed())
	}
}

// ignoresGarbage destroys the certificate in the Secret, which each agent reports while memcached serves as before.
func (s *secured) ignoresGarbage(ctx context.Context) {
	GinkgoHelper()
	serial := clustertest.Must(tls.X509KeyPair(s.pair.Data["tls.crt"], s.pair.Data["tls.key"])).Leaf.SerialNumber.Text(16)
	s.pair.Data["tls.crt"] = []byte("no certificate")
	Expect(k8s.Update(ctx, s.pair)).To(Succeed())
	for _, pod := range k8s.Pods(ctx, s.mc) {
		Eventually(ctx, func() string { return scrape(ctx, agentOf(&pod)) }).WithTimeout(kubeletSync).Should(And(
			ContainSubstring("\nmemcached_agent_reload_success 0\n"),
			ContainSubstring(`memcached_agent_certificate_info{serial="`+serial+`"} 1`)))
	}
	k8s.UntilReady(ctx, s.mc)
}

// keepsSecrets searches what the operator and the agents say for what only the Secrets may hold.
func (s *secured) keepsSecrets(ctx context.Context) {
	GinkgoHelper()
	said := map[string]string{}
	for _, pod := range k8s.Pods(ctx, s.mc) {
		said["logs of "+pod.Name] = k8s.Kubectl(ctx, "logs", "--namespace", pod.Namespace, pod.Name, "--all-containers")
		said["metrics of "+pod.Name] = scrape(ctx, agentOf(&pod))
	}
	said["objects"] = k8s.Kubectl(ctx, "get", "memcacheds.cache.example.com,statefulsets,pods,events,configmaps", "--namespace", s.mc.Namespace, "--output=yaml")
	said["the operator"] = k8s.Kubectl(ctx, "logs", "--namespace", operatorNamespace, "deployment/"+operatorDeployment)
	for _, where := range slices.Sorted(maps.Keys(said)) {
		for _, secret := range s.private {
			Expect(said[where]).NotTo(ContainSubstring(secret), where)
		}
	}
}
