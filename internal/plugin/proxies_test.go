// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// withProxies returns a world with three MemcachedProxies. The Memcached "pages" is the pool of "front" and of "side". "lonely" names
// a Memcached that does not exist.
func withProxies(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, interceptor.Funcs{})
	front := newProxy("front", "pages", cachev1alpha1.ReasonRoutesAnnounced)
	front.Status.Routes = &cachev1alpha1.MemcachedProxyRoutes{Nodes: 2, Next: ptr.To(int32(3)), From: ptr.To(metav1.NewTime(now.Add(time.Minute)))}
	front.Status.Conditions[0].Message = "From 03:05:05 UTC on, all proxies lead to 3 nodes instead of 2"
	side := newProxy("side", "pages", cachev1alpha1.ReasonAllProxiesReady)
	side.Status.Routes = &cachev1alpha1.MemcachedProxyRoutes{Nodes: 2}
	side.Status.Conditions[0].Status = metav1.ConditionTrue
	lonely := newProxy("lonely", "nowhere", cachev1alpha1.ReasonPoolNotFound)
	lonely.Status.ReadyReplicas = 0
	lonely.Status.Conditions[0].Message = "spec.pools names the Memcached nowhere, which does not exist in the namespace"
	pod := newPod(newCache("shop", "front", 1, ""), "front-1", "10.244.0.30")
	pod.Labels[memcached.NameLabel] = "memcached-proxy"
	for _, object := range []client.Object{front, side, lonely, pod, event("front", "MemcachedProxy", "Announced")} {
		if err := w.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	w.memcacheds["front-1"] = newMemcached(t, 1)
	w.logs["front-1/memcached"] = "launcher: leading to 2 nodes instead of 0\n"
	return w
}

func newProxy(name, pool, reason string) *cachev1alpha1.MemcachedProxy {
	return &cachev1alpha1.MemcachedProxy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       cachev1alpha1.MemcachedProxySpec{Size: ptr.To(int32(2)), Pools: []cachev1alpha1.MemcachedProxyPool{{Name: pool}}},
		Status: cachev1alpha1.MemcachedProxyStatus{
			ReadyReplicas: 2, Address: name + ".shop.svc:11211",
			Conditions: []metav1.Condition{{Type: cachev1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason}},
		},
	}
}

func TestStatusOfProxies(t *testing.T) {
	w := withProxies(t)
	for name, args := range map[string][]string{
		"status-proxies": {"status", "--interval=0"}, "status-proxies-everywhere": {"status", "--interval=0", "--all-namespaces"},
		"status-proxies-of-one": {"status", "pages", "--interval=0"}, "status-proxies-none": {"status", "sessions", "--interval=0"},
		"status-proxy": {"status", "front"},
	} {
		compare(t, name, w.run(t, "", args...).String())
	}
	got := w.run(t, "", "status", "--interval=0", "--output=json").stdout
	if want := `"next": 3`; !strings.Contains(got, want) || !strings.Contains(got, `"pools": [`) {
		t.Errorf("no %s in:\n%s", want, got)
	}
	w.forbidden["memcachedproxys"] = errors.New("memcachedproxies is forbidden")
	if got := w.run(t, "", "status", "--interval=0"); got.code != 0 || !strings.Contains(got.stderr, "MemcachedProxies are unknown: memcachedproxies is forbidden") {
		t.Error(got)
	}
}

// The archive of a cache contains its proxies and their pods.
func TestDebugOfProxies(t *testing.T) {
	w := withProxies(t)
	change(t, w, &corev1.Pod{}, "front-1", func(pod *corev1.Pod) { pod.Status.ContainerStatuses[0].Name = "memcached" })
	file := filepath.Join(t.TempDir(), "pages.tar.gz")
	if got := w.run(t, "", "debug", "pages", "--file="+file, "--node-timeout=1s"); got.code != 0 {
		t.Fatal(got)
	}
	files := contentOf(t, file)
	for name, want := range map[string]string{
		"proxies/front/memcachedproxy.yaml": "name: pages",
		"proxies/front/pods.yaml":           "name: front-1",
		"proxies/front/events.txt":          "Announced MemcachedProxy/front",
		"proxies/side/memcachedproxy.yaml":  "name: side",
		"logs/front-1/memcached.log":        "leading to 2 nodes",
		"statistics/front-1.yaml":           "general:",
	} {
		if !strings.Contains(files["pages/"+name], want) {
			t.Errorf("%s does not contain %q:\n%s", name, want, files["pages/"+name])
		}
	}
	if _, found := files["pages/proxies/lonely/memcachedproxy.yaml"]; found {
		t.Error("it has a proxy of another cache")
	}
}

// A proxy with several pools writes to each of them, and chooses nodes by its own hash. So keys are found only through the proxy.
func TestKeysOfCopies(t *testing.T) {
	w := withProxies(t)
	change(t, w, &cachev1alpha1.MemcachedProxy{}, "side", func(proxy *cachev1alpha1.MemcachedProxy) {
		proxy.Spec.Pools = append(proxy.Spec.Pools, cachev1alpha1.MemcachedProxyPool{Name: "pages-b"})
	})
	const want = "error: the MemcachedProxy side keeps each key in pages, pages-b, on nodes that it chooses by a hash of its own: " +
		"get, set and delete keys through side.shop.svc:11211\n"
	for _, args := range []string{"get pages user:42", "set pages user:42 hello", "delete pages user:42", "get pages user:42 --hash=jump"} {
		if got := w.run(t, "", strings.Split(args, " ")...); got.code != 1 || got.stdout != "" || got.stderr != want {
			t.Errorf("%s: %s", args, got)
		}
	}
	if got := w.run(t, "", "set", "sessions", "user:42", "hello"); got.code != 0 {
		t.Errorf("a cache without copies: %s", got)
	}
	if got := w.run(t, "n\n", "flush", "pages"); !strings.Contains(got.stderr, "flush each of pages, pages-b") {
		t.Errorf("flush: %s", got)
	}
	ofSize(1)(t, w)
	if got := w.run(t, "", "size", "pages", "--interval=1ms"); !strings.Contains(got.stdout, "change the size of each of pages, pages-b") {
		t.Errorf("size: %s", got)
	}
	change(t, w, &cachev1alpha1.MemcachedProxy{}, "side", func(proxy *cachev1alpha1.MemcachedProxy) { proxy.Status.Address = "" })
	if got := w.run(t, "", "get", "pages", "user:42"); got.code != 1 || !strings.HasSuffix(got.stderr, "through the proxy\n") {
		t.Errorf("without an address: %s", got)
	}
	change(t, w, &cachev1alpha1.MemcachedProxy{}, "side", func(proxy *cachev1alpha1.MemcachedProxy) {
		proxy.Spec.Pools = proxy.Spec.Pools[:1]
		proxy.Status.Routes.Nodes = 3
	})
	got := w.run(t, "", "get", "pages", "user:42")
	if want := "side spreads the keys over 3 nodes, but status.servers has 2: "; got.code != 1 || !strings.Contains(got.stderr, want) {
		t.Errorf("during a change of size: %s", got)
	}
	// If the proxies cannot be read, the commands work nevertheless.
	for _, err := range []error{errors.New("memcachedproxies is forbidden"), &apimeta.NoKindMatchError{}} {
		w.forbidden["memcachedproxys"] = err
		if got := w.run(t, "", "set", "pages", "user:42", "hello"); got.code != 0 {
			t.Errorf("%v: %s", err, got)
		}
	}
}
