// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/daemon"
)

// world is a cluster with the cache "pages": a StatefulSet of two nodes, with real memcacheds.
type world struct {
	client client.WithWatch
	// addresses are those of the memcacheds, by pod name.
	addresses map[string]string
	// printed is called when a command has written to the standard output.
	printed func()
}

type result struct {
	stdout, stderr string
	code           int
}

func newWorld(t *testing.T, funcs interceptor.Funcs, arguments ...string) *world {
	t.Helper()
	pages := newCache("pages", 2)
	objects := []client.Object{pages, newPod(pages, "pages-0"), newPod(pages, "pages-1")}
	w := &world{addresses: map[string]string{}, printed: func() {}}
	for _, pod := range objects[1:] {
		w.addresses[pod.GetName()] = daemon.Start(t, arguments...).Address
	}
	w.client = fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(objects...).
		WithStatusSubresource(&cachev1alpha1.Memcached{}).WithInterceptorFuncs(funcs).Build()
	return w
}

func (w *world) run(t *testing.T, input string, args ...string) result {
	t.Helper()
	return w.runWithin(t.Context(), strings.NewReader(input), args...)
}

func (w *world) runWithin(ctx context.Context, input io.Reader, args ...string) result {
	var out, errOut bytes.Buffer
	watched := writerFunc(func(text []byte) (int, error) {
		defer w.printed()
		return out.Write(text)
	})
	s := &session{
		IOStreams: genericiooptions.IOStreams{In: input, Out: watched, ErrOut: &errOut}, clock: clock.RealClock{},
		connect: func(*session) (*cluster, error) {
			return &cluster{Client: w.client, namespace: "shop", dial: w.dial}, nil
		},
	}
	code := run(ctx, s, "v1.2.3", args)
	return result{out.String(), errOut.String(), code}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(text []byte) (int, error) { return f(text) }

func (w *world) dial(ctx context.Context, pod *corev1.Pod, _ int) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", w.addresses[pod.Name])
}

// send sends a command to the memcached of a node, and returns the reply.
func (w *world) send(t *testing.T, node, command string) string {
	t.Helper()
	conn := w.connect(t, node)
	reply, err := conn.Command(t.Context(), command)
	must(t, err)
	return reply
}

func (w *world) connect(t *testing.T, node string) *memcache.Conn {
	t.Helper()
	conn, err := memcache.Dial(t.Context(), w.addresses[node])
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// store stores some items on a node.
func (w *world) store(t *testing.T, node string, count int) {
	t.Helper()
	for i := range count {
		if reply := w.send(t, node, fmt.Sprintf("set key-%d 0 0 5\r\nhello", i)); reply != "STORED" {
			t.Fatal(reply)
		}
	}
}

// items returns the number of items of each node.
func (w *world) items(t *testing.T) (counts [2]int64) {
	t.Helper()
	for i := range counts {
		stats, err := w.connect(t, fmt.Sprintf("pages-%d", i)).Stats(t.Context())
		must(t, err)
		counts[i] = numberOf(stats, "curr_items")
	}
	return counts
}

// pages returns the spec of the cache.
func (w *world) pages(t *testing.T) cachev1alpha1.MemcachedSpec {
	t.Helper()
	mc := &cachev1alpha1.Memcached{}
	must(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "pages"}, mc))
	return mc.Spec
}

// change edits an object of the world, including the object's status.
func change[T client.Object](t *testing.T, w *world, object T, name string, edit func(T)) {
	t.Helper()
	must(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, object))
	edit(object)
	status := object.DeepCopyObject().(client.Object)
	must(t, w.client.Update(t.Context(), object))
	status.SetResourceVersion(object.GetResourceVersion())
	must(t, client.IgnoreNotFound(w.client.Status().Update(t.Context(), status)))
}

func newCache(name string, size int32) *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 1},
		Spec:       cachev1alpha1.MemcachedSpec{Size: size, Workload: cachev1alpha1.WorkloadStatefulSet},
		Status: cachev1alpha1.MemcachedStatus{
			Conditions: []metav1.Condition{conditionOf("Ready", "AllNodesReady", "True", 1)},
		},
	}
}

func newPod(mc *cachev1alpha1.Memcached, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: name, Labels: memcached.SelectorLabels(mc)},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "memcached", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			}},
		},
	}
}

func conditionOf(conditionType, reason string, status metav1.ConditionStatus, generation int64) metav1.Condition {
	return metav1.Condition{Type: conditionType, Reason: reason, Status: status, ObservedGeneration: generation, Message: "no room"}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// contains reports the texts that are missing.
func contains(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}
