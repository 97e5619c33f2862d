// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

const (
	// spoiledKeys is how many keys a node holds before its Secret becomes bad.
	spoiledKeys = 100
	// longestRefusal is how long a starting node may take to report what is wrong, with a reserve for a busy machine.
	longestRefusal = 30*time.Second + busyMachine
	// longestUntold is how long the operator may take to learn what an agent knows. The operator asks each agent at most once a minute,
	// and looks every 5 seconds for agents to ask.
	longestUntold = 65*time.Second + busyMachine
)

// Each kind of bad content has its own cache. So all Secrets become bad at the same time, and the test waits only once for the kubelet to
// deliver them.
var _ = Describe("A Secret that nobody can use", Label(onLocalCluster), func() {
	It("does not keep a living node from serving, and a node that starts says what is wrong", SpecTimeout(10*time.Minute), func(ctx SpecContext) {
		caches := newSpoiledCaches(ctx)
		By("spoiling the Secrets, which the agents notice and memcached does not")
		for _, s := range caches {
			s.spoil(ctx)
		}
		for _, s := range caches {
			s.untilNoticed(ctx)
		}
		for _, s := range caches {
			k8s.UntilReady(ctx, s.mc)
			s.mustServe(ctx)
		}
		By("telling whoever has kubectl alone, while the caches stay Ready")
		for _, s := range caches {
			s.untilTold(ctx)
		}

		By("starting another node of each, which says what is wrong")
		for _, s := range caches {
			scale(ctx, s.mc, 2)
		}
		rows := [][]string{{"Secret", "Degraded after", "message"}}
		for _, s := range caches {
			rows = append(rows, s.untilDegraded(ctx))
			s.mustServe(ctx)
		}
		clustertest.AddTable("Nodes that start with a Secret that nobody can use", rows)

		By("repairing the Secrets, with which they start by themselves")
		for _, s := range caches {
			s.repair(ctx)
		}
		var everything private
		for _, s := range caches {
			s.untilRepaired(ctx)
			s.mustServe(ctx)
			everything.addAll(s.private)
		}
		for _, s := range caches {
			s.untilForgotten(ctx)
		}
		everything.mustStayPrivate(ctx, caches[0].mc.Namespace)
	})
})

// untilNeedsAttention waits until the condition NeedsAttention has this reason, and a message that contains all the
// words. The Memcached must be Ready then.
func untilNeedsAttention(ctx context.Context, mc *cachev1alpha1.Memcached, within time.Duration, reason string, words ...string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		told := k8s.Condition(ctx, g, mc, cachev1alpha1.ConditionNeedsAttention)
		g.Expect(told).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", reason)), mc.Name)
		for _, some := range words {
			g.Expect(told.Message).To(ContainSubstring(some))
		}
	}).WithTimeout(within).Should(Succeed())
	Expect(mc.Status.Conditions).To(ContainElement(And(HaveField("Type", cachev1alpha1.ConditionReady), HaveField("Status", metav1.ConditionTrue))))
}

// badSecret is a Secret that somebody has made unusable by mistake: two of each kind. The tests of internal/agent/credentials have all
// mistakes. words are part of the operator's message about this Secret.
type badSecret struct {
	name string
	// kind makes the cache use the Secret, either for TLS or for users.
	kind clustertest.Edit
	// content returns the bad content of the Secret. If content is nil, the Secret is deleted.
	content func(s *secured) map[string][]byte
	words   string
}

var badSecrets = []badSecret{
	{"another-key", mutualTLS, func(s *secured) map[string][]byte {
		return s.with(map[string][]byte{"tls.key": s.newPair(s.authority)["tls.key"]})
	}, "tls.key does not fit the first certificate in tls.crt"},
	{"expired", mutualTLS, func(s *secured) map[string][]byte {
		old := clustertest.Must(s.authority.ExpiredUser("cache"))
		return s.with(map[string][]byte{"tls.crt": old.Certificate, "tls.key": old.Key})
	}, "the certificate in tls.crt has expired: renew it"},
	{"deleted", withUsers, nil, "the Secret of spec.auth.secretName does not exist"},
	{"crlf", withUsers, password("a-password-from-windows\r\n"), "the password of the user web contains a line break"},
}

// password returns a function for badSecret.content. The Secret then holds a single user, s.member, with the given password.
func password(of string) func(*secured) map[string][]byte {
	return func(s *secured) map[string][]byte { return map[string][]byte{s.member.user: []byte(of)} }
}

// spoiledCache is a cache whose Secret becomes bad.
type spoiledCache struct {
	*secured
	badSecret

	secret *corev1.Secret
	good   map[string][]byte
	// pod is the first node. It runs throughout the test, with keys and an open connection.
	pod    corev1.Pod
	before clustertest.Incarnation
	keys   *traffic.Client
	open   *traffic.Conn
	serial string
}

// newSpoiledCaches creates a cache for each badSecret. Each cache has one node, a Secret that is still good, and keys.
func newSpoiledCaches(ctx context.Context) []*spoiledCache {
	GinkgoHelper()
	var caches []*spoiledCache
	namespace := k8s.NewNamespace(ctx)
	for _, bad := range badSecrets {
		s := &spoiledCache{badSecret: bad}
		s.secured = newSecured(ctx, namespace, 1, clustertest.Named(bad.name), leavesQuickly, bad.kind)
		if s.secret = s.users; s.pair != nil {
			s.secret, s.serial = s.pair, s.secured.serial()
		}
		s.good = s.secret.Data
		caches = append(caches, s)
	}
	for _, s := range caches {
		k8s.UntilReady(ctx, s.mc)
		s.pod = k8s.Pods(ctx, s.mc)[0]
		s.before = k8s.Incarnations(ctx, s.mc)[s.pod.Name]
		s.keys = s.newClient(ctx, s.member)
		clustertest.MustStore(ctx, s.keys, spoiledKeys)
		s.open = clustertest.Must(s.visit(ctx, s.address(&s.pod), s.member))
		DeferCleanup(func() { _ = s.open.Close() })
	}
	return caches
}

func (s *spoiledCache) spoil(ctx context.Context) {
	GinkgoHelper()
	if s.content != nil {
		s.put(ctx, s.secret, s.content(s.secured))
		return
	}
	Expect(k8s.Delete(ctx, s.secret)).To(Succeed())
	s.secret.ObjectMeta = metav1.ObjectMeta{Namespace: s.secret.Namespace, Name: s.secret.Name}
}

func (s *spoiledCache) repair(ctx context.Context) {
	GinkgoHelper()
	s.put(ctx, s.secret, s.good)
}

func (s *spoiledCache) untilNoticed(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() string { return scrape(ctx, agentOf(&s.pod)) }).WithTimeout(kubeletSync).
		Should(ContainSubstring("\nmemcached_agent_reload_success 0\n"), s.name)
}

// untilTold waits until the Memcached reports what the agent of the first node has noticed. The Memcached must still be Ready.
func (s *spoiledCache) untilTold(ctx context.Context) {
	GinkgoHelper()
	untilNeedsAttention(ctx, s.mc, longestUntold, cachev1alpha1.ReasonInvalidSecret, "Pod "+s.pod.Name+" says of the Secret "+s.secret.Name, s.words)
}

func (s *spoiledCache) untilForgotten(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(s.mc), s.mc)).To(Succeed())
		g.Expect(s.mc.Status.Conditions).NotTo(ContainElement(HaveField("Type", cachev1alpha1.ConditionNeedsAttention)), s.name)
	}).WithTimeout(longestUntold).Should(Succeed())
}

// mustServe fails unless the first node still serves as before the Secret became bad: on open and new connections,
// with the same keys, certificate and users.
func (s *spoiledCache) mustServe(ctx context.Context) {
	GinkgoHelper()
	Expect(s.open.Command(ctx, "mn")).To(Equal("MN"), s.name)
	Expect(s.mayEnter(ctx, s.address(&s.pod), s.member)).To(Succeed(), s.name)
	clustertest.MustFind(ctx, s.keys, spoiledKeys)
	Expect(k8s.Incarnations(ctx, s.mc)).To(HaveKeyWithValue(s.pod.Name, s.before), s.name)
	if s.pair != nil {
		Expect(s.shown(ctx, s.address(&s.pod))).To(Equal(s.serial), s.name)
	}
}

// untilDegraded waits until the Memcached says why its second node does not start. It returns a row for the table.
func (s *spoiledCache) untilDegraded(ctx context.Context) []string {
	GinkgoHelper()
	var degraded metav1.Condition
	Eventually(ctx, func(g Gomega) {
		degraded = k8s.Condition(ctx, g, s.mc, cachev1alpha1.ConditionDegraded)
		g.Expect(degraded).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", cachev1alpha1.ReasonInvalidSecret),
			HaveField("Message", ContainSubstring(s.words)), HaveField("Message", Not(ContainSubstring(s.pod.Name)))), s.name)
	}).WithTimeout(longestRefusal).Should(Succeed())
	var started time.Time
	for _, pod := range k8s.Pods(ctx, s.mc) {
		if pod.Name != s.pod.Name {
			started = pod.CreationTimestamp.Time
			Expect(degraded.Message).To(ContainSubstring(pod.Name))
		}
	}
	return []string{s.name, seconds(degraded.LastTransitionTime.Sub(started)), degraded.Message}
}

// untilRepaired waits until both nodes serve, and their agents have loaded the repaired Secret.
func (s *spoiledCache) untilRepaired(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(k8s.Condition(ctx, g, s.mc, cachev1alpha1.ConditionReady).Status).To(Equal(metav1.ConditionTrue), s.name)
	}).WithTimeout(kubeletSync).Should(Succeed())
	pods := k8s.Pods(ctx, s.mc)
	Expect(pods).To(HaveLen(2))
	for _, pod := range pods {
		Expect(s.mayEnter(ctx, s.address(&pod), s.member)).To(Succeed(), "%s at %s", s.name, pod.Name)
		Eventually(ctx, func() string { return scrape(ctx, agentOf(&pod)) }).WithTimeout(kubeletSync).
			Should(ContainSubstring("\nmemcached_agent_reload_success 1\n"))
	}
}
