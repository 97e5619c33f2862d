// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olmv1

package olmv1

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/traffic"
)

// keys are so many that each of a few nodes has a good share of them.
const keys = 2000

// all is what a client finds that misses nothing.
var all = traffic.Hits{Keys: keys, Hits: keys}

// newNamespace makes a namespace in which Pod Security admits restricted pods alone. It goes with the node that made it: the story,
// if that is its BeforeAll.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "caches-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	Expect(k8s.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, namespace)).To(Succeed()) })
	return namespace.Name
}

// createMemcached creates a Memcached.
func createMemcached(ctx context.Context, namespace string, size int32) *cachev1alpha1.Memcached {
	GinkgoHelper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache"},
		Spec:       cachev1alpha1.MemcachedSpec{Size: size},
	}
	Expect(k8s.Create(ctx, mc)).To(Succeed())
	return mc
}

// untilReady waits until a Memcached is Ready with all its nodes, and reads it anew.
func untilReady(ctx context.Context, mc *cachev1alpha1.Memcached) {
	GinkgoHelper()
	resource := "memcached/" + mc.Name
	kubectl(ctx, "wait", resource, "--namespace", mc.Namespace, fmt.Sprintf("--for=jsonpath={.status.readyReplicas}=%d", mc.Spec.Size), "--timeout=2m")
	kubectl(ctx, "wait", resource, "--namespace", mc.Namespace, "--for=condition=Ready", "--timeout=1m")
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(mc), mc)).To(Succeed())
}

// newClient returns a client of the nodes of a Memcached. Its connections are closed when the spec ends, and made anew when they
// are used again.
func newClient(ctx context.Context, mc *cachev1alpha1.Memcached) *traffic.Client {
	GinkgoHelper()
	var servers []traffic.Server
	for _, name := range mc.Status.Nodes {
		var pod corev1.Pod
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: mc.Namespace, Name: name}, &pod)).To(Succeed())
		servers = append(servers, traffic.Server{Name: name, Address: net.JoinHostPort(pod.Status.PodIP, "11211")})
	}
	ring, err := traffic.NewRing(servers...)
	Expect(err).NotTo(HaveOccurred())
	// The tests run in the network of the pods.
	c := traffic.NewClient(ring, nil)
	DeferCleanup(c.Close)
	return c
}

// startReading reads the same keys of a cache all the time, as an application does. Who stops it gets the number of rounds and of
// keys that were missing in them.
func startReading(ctx context.Context, cache *traffic.Client) (stop func() (rounds, missing int)) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var reading sync.WaitGroup
	var rounds, missing int
	reading.Go(func() {
		for ctx.Err() == nil {
			if hits, err := cache.Read(ctx, keys); err == nil {
				rounds++
				missing += hits.Keys - hits.Hits
			}
		}
	})
	stop = func() (int, int) {
		cancel()
		reading.Wait()
		return rounds, missing
	}
	DeferCleanup(func() { stop() })
	return stop
}

// restarts returns the nodes of a Memcached by their pods, with how often memcached was restarted in each.
func restarts(ctx context.Context, mc *cachev1alpha1.Memcached) map[types.UID]int32 {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, client.InNamespace(mc.Namespace), client.MatchingLabels{"app.kubernetes.io/name": "memcached"})).To(Succeed())
	counts := map[types.UID]int32{}
	for _, pod := range pods.Items {
		counts[pod.UID] = 0
		for _, container := range pod.Status.ContainerStatuses {
			counts[pod.UID] += container.RestartCount
		}
	}
	return counts
}

// read returns a file of the repository.
func read(path string) string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(repository, path))
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// kubectl runs kubectl, which must succeed, and returns what it prints.
func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	output, err := tryKubectl(ctx, args...)
	Expect(err).NotTo(HaveOccurred())
	return output
}

// tryKubectl runs kubectl in the root of the repository. What it prints goes to the report as well.
func tryKubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "kubectl", args...)
	var stdout, stderr strings.Builder
	cmd.Dir, cmd.Stdout, cmd.Stderr = repository, &stdout, &stderr
	fmt.Fprintln(GinkgoWriter, "$ kubectl", strings.Join(args, " "))
	err := cmd.Run()
	fmt.Fprint(GinkgoWriter, stdout.String(), stderr.String())
	if err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w\n%s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}
