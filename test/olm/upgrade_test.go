// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olm

package olm

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	appsv1 "k8s.io/api/apps/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/traffic"
)

const (
	candidateChannel = "candidate-v1"
	stableChannel    = "stable-v1"
	// keys are so many that each of a few nodes has a good share of them.
	keys = 2000
)

// previousVersion returns the version of hack/olm/previous.
func previousVersion() string {
	GinkgoHelper()
	for line := range strings.Lines(read("hack/olm/previous")) {
		if version, _, ok := strings.Cut(line, " "); ok && version != "#" {
			return version
		}
	}
	Fail("hack/olm/previous has no line with a version and a commit")
	return ""
}

// tagged returns an image with another tag.
func tagged(image, tag string) string { return image[:strings.LastIndexByte(image, ':')+1] + tag }

// reader reads the same keys of a cache all the time, as an application does.
type reader struct {
	stop         func()
	rounds, lost int
}

func startReading(ctx context.Context, cache *traffic.Client) *reader {
	r := &reader{}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			hits, err := cache.Read(ctx, keys)
			if err == nil {
				r.rounds++
				r.lost += hits.Keys - hits.Hits
			}
		}
	})
	r.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	DeferCleanup(r.stop)
	return r
}

var _ = Describe("An administrator subscribes to the operator", Ordered, func() {
	var (
		previous, operators, caches string
		mc                          *cachev1alpha1.Memcached
		cache                       *traffic.Client
		nodes                       map[types.UID]int32
	)

	BeforeAll(func(ctx SpecContext) {
		beginStory(ctx)
		previous = previousVersion()
		operators, caches = newNamespace(ctx, "restricted"), newNamespace(ctx, "restricted")
		newCatalog(ctx, tagged(catalogImage, "v"+previous))
		newScope(ctx, operators)
	}, NodeTimeout(2*time.Minute))

	It("installs nothing before the plan is approved", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		subscribe(ctx, operators, candidateChannel, operatorsv1alpha1.ApprovalManual)
		plan := untilPlanned(ctx, operators, previous)
		Consistently(ctx, func() (map[string]operatorsv1alpha1.ClusterServiceVersionPhase, error) {
			return installed(ctx, operators)
		}).WithTimeout(3 * time.Second).Should(BeEmpty())
		approve(ctx, plan)
		untilInstalled(ctx, operators, previous)
		Expect(runningImage(ctx, operators)).To(Equal(tagged(operatorImage, "v"+previous)))
	})

	It("has a cache that is full of keys", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		mc = createMemcached(ctx, caches, 3)
		untilReady(ctx, mc)
		cache = newClient(ctx, mc)
		Expect(cache.Write(ctx, keys, 100)).To(Succeed())
		nodes = restarts(ctx, mc)
		Expect(nodes).To(HaveLen(3))
	})

	It("lets those who may edit a namespace have caches there", SpecTimeout(time.Minute), func(ctx SpecContext) {
		kubectl(ctx, "create", "rolebinding", "editor", "--namespace", caches, "--clusterrole=edit", "--user=alice")
		for _, verb := range []string{"create", "patch", "delete"} {
			Eventually(ctx, func(ctx context.Context) error {
				_, err := run(ctx, repository, "kubectl", "auth", "can-i", verb, "memcacheds.cache.example.com", "--namespace", caches, "--as=alice")
				return err
			}).Should(Succeed(), verb)
		}
	})

	It("upgrades the operator, when the new version is approved, without losing a key", SpecTimeout(4*time.Minute), func(ctx SpecContext) {
		reading := startReading(ctx, cache)
		release(ctx, catalogImage)
		plan := untilPlanned(ctx, operators, version)
		Consistently(ctx, func() (map[string]operatorsv1alpha1.ClusterServiceVersionPhase, error) {
			return installed(ctx, operators)
		}).WithTimeout(3 * time.Second).Should(HaveKeyWithValue(previous, operatorsv1alpha1.CSVPhaseSucceeded))
		approve(ctx, plan)
		untilInstalled(ctx, operators, version)
		Expect(runningImage(ctx, operators)).To(Equal(operatorImage))

		By("using the new version, which tells OLM about rollouts")
		untilUpgradeable(ctx, operators)
		reading.stop()
		Expect(restarts(ctx, mc)).To(Equal(nodes), "restarts by pod: an upgrade of the operator must replace none")
		Expect(reading.rounds).To(BeNumerically(">", 10))
		Expect(reading.lost).To(BeZero(), "keys that were missing, in %d rounds", reading.rounds)
		AddReportEntry(fmt.Sprintf("0 of %d pods restarted, 0 of %d keys lost in each of %d rounds", len(nodes), keys, reading.rounds))
	})

	It("is told why there is no way back to the version before", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		kubectl(ctx, "delete", "--namespace", operators, "subscription/"+packageName)
		subscribe(ctx, operators, candidateChannel, operatorsv1alpha1.ApprovalAutomatic, func(spec *operatorsv1alpha1.SubscriptionSpec) {
			spec.StartingCSV = versionName(previous)
		})
		Eventually(ctx, func() (string, error) {
			sub, err := subscription(ctx, operators)
			return sub.Status.GetCondition(operatorsv1alpha1.SubscriptionResolutionFailed).Message, err
		}).Should(And(ContainSubstring("clusterserviceversion "+versionName(version)+" exists"), ContainSubstring(versionName(previous))))
		Expect(installed(ctx, operators)).To(Equal(map[string]operatorsv1alpha1.ClusterServiceVersionPhase{
			version: operatorsv1alpha1.CSVPhaseSucceeded,
		}))
	})

	It("uninstalls the operator while the cache serves", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		uninstall(ctx, operators, version)
		Expect(cache.Read(ctx, keys)).To(Equal(traffic.Hits{Keys: keys, Hits: keys}))
		Expect(restarts(ctx, mc)).To(Equal(nodes))

		By("deleting another cache, which needs no operator")
		orphan := createMemcached(ctx, newNamespace(ctx, "restricted"), 1)
		kubectl(ctx, "delete", "--namespace", orphan.Namespace, "memcached/"+orphan.Name, "--timeout=10s")
	})

	It("installs it again, which adopts the cache as it is", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		newScope(ctx, operators)
		subscribe(ctx, operators, stableChannel, operatorsv1alpha1.ApprovalAutomatic)
		untilInstalled(ctx, operators, version)
		untilUpgradeable(ctx, operators)
		Expect(restarts(ctx, mc)).To(Equal(nodes))
		Expect(cache.Read(ctx, keys)).To(Equal(traffic.Hits{Keys: keys, Hits: keys}))

		By("scaling it, which proves that it is served")
		before := mc.DeepCopy()
		mc.Spec.Size = 4
		Expect(k8s.Patch(ctx, mc, client.MergeFrom(before))).To(Succeed())
		untilReady(ctx, mc)
		Expect(mc.Status.Nodes).To(HaveLen(4))
		uninstall(ctx, operators, version)
	})
})

var _ = Describe("An administrator leaves upgrades to OLM", func() {
	It("upgrades the operator as soon as the catalog has a new version", SpecTimeout(4*time.Minute), func(ctx SpecContext) {
		beginStory(ctx)
		previous, operators := previousVersion(), newNamespace(ctx, "restricted")
		newCatalog(ctx, tagged(catalogImage, "v"+previous))
		newScope(ctx, operators)
		subscribe(ctx, operators, candidateChannel, operatorsv1alpha1.ApprovalAutomatic)
		untilInstalled(ctx, operators, previous)
		release(ctx, catalogImage)
		untilInstalled(ctx, operators, version)
		uninstall(ctx, operators, version)
	})

	It("upgrades it only when no nodes are being replaced any more", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		beginStory(ctx)
		operators := newNamespace(ctx, "restricted")
		newCatalog(ctx, catalogImage)
		newScope(ctx, operators)
		subscribe(ctx, operators, candidateChannel, operatorsv1alpha1.ApprovalAutomatic)
		untilInstalled(ctx, operators, version)
		mc := createMemcached(ctx, newNamespace(ctx, "restricted"), 1)
		untilReady(ctx, mc)
		untilUpgradeable(ctx, operators)

		By("replacing its node by one that must be ready for an hour, while the catalog gets a new version")
		before := mc.DeepCopy()
		mc.Spec.UpdateStrategy.MinReadySeconds = 3600
		mc.Spec.Config.MaxConnections++
		Expect(k8s.Patch(ctx, mc, client.MergeFrom(before))).To(Succeed())
		Eventually(ctx, upgradeable).WithArguments(operators, version).Should(Equal(metav1.ConditionFalse))
		release(ctx, tagged(catalogImage, "v"+nextVersion))
		pending := map[string]operatorsv1alpha1.ClusterServiceVersionPhase{
			version: operatorsv1alpha1.CSVPhaseReplacing, nextVersion: operatorsv1alpha1.CSVPhasePending,
		}
		phases := func() (map[string]operatorsv1alpha1.ClusterServiceVersionPhase, error) {
			return installed(ctx, operators)
		}
		Eventually(ctx, phases).Should(Equal(pending))
		Consistently(ctx, phases).WithTimeout(5 * time.Second).Should(Equal(pending))
		Expect(kubectl(ctx, "get", "--namespace", operators, "clusterserviceversion/"+versionName(nextVersion),
			"--output=jsonpath={.status.reason}: {.status.message}")).To(And(
			HavePrefix(string(operatorsv1alpha1.CSVReasonOperatorConditionNotUpgradeable)), ContainSubstring(mc.Namespace+"/"+mc.Name)))

		By("letting the new node be enough")
		before = mc.DeepCopy()
		mc.Spec.UpdateStrategy.MinReadySeconds = 0
		Expect(k8s.Patch(ctx, mc, client.MergeFrom(before))).To(Succeed())
		untilInstalled(ctx, operators, nextVersion)
		Expect(runningImage(ctx, operators)).To(Equal(tagged(operatorImage, "v"+nextVersion)))
		uninstall(ctx, operators, nextVersion)
	})
})

// runningImage returns the image of the operator in a namespace.
func runningImage(ctx context.Context, namespace string) (string, error) {
	var deployment appsv1.Deployment
	if err := k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: operatorDeployment}, &deployment); err != nil {
		return "", err
	}
	return deployment.Spec.Template.Spec.Containers[0].Image, nil
}

// untilUpgradeable waits until the operator, which leads by then, tells OLM that it may be upgraded.
func untilUpgradeable(ctx context.Context, namespace string) {
	GinkgoHelper()
	Eventually(ctx, upgradeable).WithArguments(namespace, version).Should(Equal(metav1.ConditionTrue))
}

// upgradeable returns what a version of the operator tells OLM about its upgrade, nothing unless it tells anything.
func upgradeable(ctx context.Context, namespace, version string) (metav1.ConditionStatus, error) {
	var operator operatorsv2.OperatorCondition
	if err := k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: versionName(version)}, &operator); err != nil {
		return "", err
	}
	if condition := apimeta.FindStatusCondition(operator.Spec.Conditions, operatorsv2.Upgradeable); condition != nil {
		return condition.Status, nil
	}
	return "", nil
}
