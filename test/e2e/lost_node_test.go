// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	childprocess "github.com/example/memcached-operator/test/process"
)

// unreachableSeconds is how long the pods tolerate an unreachable cluster node, in seconds.
const unreachableSeconds = 1

// Only the cluster nodes are simulated. The real kube-controller-manager notices that a cluster node does not report,
// and evicts its pods. The real operator deletes the evicted pod, with its usual permissions and admission policy.
var _ = Describe("A cluster node that is lost for good", Label(onLocalCluster), func() {
	It("costs a StatefulSet's pod its place, but not its name", SpecTimeout(6*time.Minute), func(ctx SpecContext) {
		namespace := k8s.NewNamespace(ctx)
		kubelets := map[string]*childprocess.Process{}
		for _, letter := range []string{"a", "b", "c", "d"} { // one more than the cache has nodes
			name := namespace + "-" + letter
			kubelets[name] = startSimulatedNode(ctx, name, namespace)
		}
		for name := range kubelets { // the scheduler ignores a cluster node that has not reported yet
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
			Eventually(ctx, k8s.Object(node)).Should(HaveField("Spec.Taints", HaveLen(1)), "a cluster node that reports")
		}
		mc := k8s.CreateMemcached(ctx, namespace, 3, onSimulatedNodes)
		DeferCleanup(func(ctx SpecContext) { // runs before the kubelets are stopped: without them, no pod would end
			k8s.Kubectl(ctx, "delete", "memcached", mc.Name, "--namespace", namespace, "--cascade=foreground", "--timeout=1m")
		})
		k8s.UntilReady(ctx, mc)
		before, lost := k8s.Incarnations(ctx, mc), k8s.Pods(ctx, mc)[1]

		By("losing the cluster node of the second pod, which Kubernetes finds out")
		Expect(kubelets[lost.Spec.NodeName].Stop(10 * time.Second)).To(Succeed())
		tainted := untilUnreachable(ctx, lost.Spec.NodeName)

		By("starting another pod of the name elsewhere")
		var found corev1.Pod
		Eventually(ctx, func(g Gomega) {
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(&lost), &found)).To(Succeed())
			g.Expect(found.UID).NotTo(Equal(lost.UID))
			g.Expect(clustertest.Ready(&found)).To(BeTrue())
		}).Should(Succeed())
		Expect(found.Spec.NodeName).NotTo(Equal(lost.Spec.NodeName))
		Expect(time.Since(tainted)).To(BeNumerically("<=", (unreachableSeconds+65)*time.Second))
		k8s.UntilReady(ctx, mc)
		Expect(mc.Status.Nodes).To(Equal([]string{"cache-0", "cache-1", "cache-2"}))

		By("leaving the others alone, and saying what happened")
		after := k8s.Incarnations(ctx, mc)
		for _, name := range []string{"cache-0", "cache-2"} {
			Expect(after[name]).To(Equal(before[name]), name)
		}
		Eventually(ctx, func() []string { return notesOf(ctx, mc, "LostPodDeleted") }).Should(ConsistOf(fmt.Sprintf(
			"Pod cache-1 did not stop after its eviction from cluster node %s: deleted it without waiting, so that a new cache-1 can start",
			lost.Spec.NodeName)))
	})
})

// startSimulatedNode creates a cluster node, and starts kwok as its kubelet. kwok runs no containers: it only reports that the pods run.
func startSimulatedNode(ctx context.Context, name, zone string) *childprocess.Process {
	GinkgoHelper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, corev1.LabelTopologyZone: zone, corev1.LabelOSStable: "linux", simulatedKey: "true",
	}}}
	node.Spec.Taints = []corev1.Taint{{Key: simulatedKey, Effect: corev1.TaintEffectNoSchedule}}
	Expect(k8s.Create(ctx, node)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, node)).To(Succeed()) })

	dir := GinkgoT().TempDir()
	kubelet := clustertest.Must(childprocess.Start(childprocess.Spec{
		Name: "kwok", Path: clustertest.Must(exec.LookPath("kwok")),
		Args: []string{
			"--kubeconfig=" + os.Getenv("KUBECONFIG"), "--config=" + clustertest.Must(filepath.Abs("../simulated/kwok.yaml")),
			"--manage-all-nodes=false", "--manage-single-node=" + name,
		},
		Env: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}, // without this HOME, kwok would read the user's configuration
		Dir: dir, LogFile: filepath.Join(dir, name+".log"),
	}))
	DeferCleanup(func() { Expect(kubelet.Stop(10 * time.Second)).To(Succeed()) })
	return kubelet
}

// simulatedKey is the key of the label and of the taint of simulated cluster nodes.
const simulatedKey = "example.com/simulated"

// onSimulatedNodes lets the nodes of a cache run on simulated cluster nodes only.
func onSimulatedNodes(mc *cachev1alpha1.Memcached) {
	mc.Spec.Workload = cachev1alpha1.WorkloadStatefulSet
	mc.Spec.GracefulShutdown.PreStopDelaySeconds = ptr.To[int32](0)
	mc.Spec.Scheduling.NodeSelector = map[string]string{simulatedKey: "true"}
	mc.Spec.Scheduling.Affinity = apart(mc) // otherwise, pods would share the first cluster node that the scheduler knows
	mc.Spec.Scheduling.Tolerations = []corev1.Toleration{
		{Key: simulatedKey, Operator: "Exists", Effect: "NoSchedule"},
		{
			Key: corev1.TaintNodeUnreachable, Operator: "Exists", Effect: "NoExecute", TolerationSeconds: ptr.To[int64](unreachableSeconds),
		},
	}
}

// untilUnreachable waits until a cluster node has the taint that makes Kubernetes evict its pods. It returns the time of the taint.
func untilUnreachable(ctx context.Context, name string) time.Time {
	GinkgoHelper()
	var since time.Time
	Eventually(ctx, func(g Gomega) {
		node := &corev1.Node{}
		g.Expect(k8s.Get(ctx, client.ObjectKey{Name: name}, node)).To(Succeed())
		i := slices.IndexFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.Key == corev1.TaintNodeUnreachable && taint.Effect == corev1.TaintEffectNoExecute
		})
		g.Expect(i).To(BeNumerically(">=", 0), "%v", node.Spec.Taints)
		since = node.Spec.Taints[i].TimeAdded.Time
	}).Should(Succeed())
	return since
}

// notesOf returns the notes of a Memcached's events that have this reason.
func notesOf(ctx context.Context, mc *cachev1alpha1.Memcached, reason string) []string {
	GinkgoHelper()
	var events eventsv1.EventList
	Expect(k8s.List(ctx, &events, client.InNamespace(mc.Namespace))).To(Succeed())
	var notes []string
	for _, event := range events.Items {
		if event.Regarding.Name == mc.Name && event.Reason == reason {
			notes = append(notes, event.Note)
		}
	}
	return notes
}

// apart returns an affinity that keeps the nodes of a Memcached on different cluster nodes.
func apart(mc *cachev1alpha1.Memcached) *corev1.Affinity {
	nodes := map[string]string{"app.kubernetes.io/instance": mc.Name}
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: nodes},
		}},
	}}
}
