// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// agents imitates the parents and sidecars of nodes. A parent runs the arguments of its pod's first start, and reads its pod's entry in
// the ConfigMap only when a test calls follow.
type agents struct {
	clock *clocktesting.FakePassiveClock
	mutex sync.Mutex
	// entries has the entry in effect of each pod, and refused the last one that its parent did not accept.
	entries map[types.UID]protocol.Entry
	refused map[types.UID]*protocol.Refusal
	// refuses makes memcached refuse all other arguments, with this reason. It is empty if memcached accepts them.
	refuses string
	// silent has the names of pods whose parents do not answer, and fills are what the others say of their items.
	silent []string
	fills  map[string]*protocol.Fill
	asked  []string
	// problems are the problems that agents report, by the name of the pod. The agent of a pod without an entry does not answer.
	problems map[string][]protocol.Problem
	// routes are the routes that proxies have, by the name of the pod. All other proxies have those in the ConfigMap. missed is what proxies
	// say of nodes that they cannot use.
	routes, missed map[string]string
}

var errRefused = errors.New("connection refused")

// Ask implements controllers.Nodes.
func (a *agents) Ask(ctx context.Context, pod *corev1.Pod, port int, hosts ...string) (protocol.Status, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if port == memcached.MetricsPort {
		return a.sidecar(pod, hosts)
	}
	a.asked = append(a.asked, pod.Name)
	if pod.Labels[memcached.NameLabel] == memcached.ProxyName {
		return a.proxy(ctx, pod)
	}
	if slices.Contains(a.silent, pod.Name) || pod.Status.PodIP == "" {
		return protocol.Status{}, errRefused
	}
	status := protocol.Status{List: memcached.FirstList(pod), SecondsInEffect: 3600, Refused: a.refused[pod.UID], Fill: a.fills[pod.Name]}
	if entry, found := a.entries[pod.UID]; found {
		status.Number, status.List = entry.Number, entry.List
	}
	return status, nil
}

func (a *agents) proxy(ctx context.Context, pod *corev1.Pod) (protocol.Status, error) {
	text, found := a.routes[pod.Name]
	if !found {
		var config corev1.ConfigMap
		name := client.ObjectKey{Namespace: pod.Namespace, Name: pod.Labels[memcached.InstanceLabel] + memcached.RoutesSuffix}
		if err := user.Get(ctx, name, &config); err != nil {
			return protocol.Status{}, err
		}
		text = config.Data[protocol.RoutesKey]
	}
	routes, err := protocol.ParseRoutes(text)
	status := &protocol.ProxyStatus{Routes: text, Count: routes.Pool.At(a.clock.Now()), Missed: a.missed[pod.Name]}
	return protocol.Status{Proxy: status}, err
}

func (a *agents) sidecar(pod *corev1.Pod, hosts []string) (protocol.Status, error) {
	a.asked = append(a.asked, strings.Join(append([]string{pod.Name}, hosts...), " "))
	problems, ok := a.problems[pod.Name]
	if !ok || pod.Status.PodIP == "" {
		return protocol.Status{}, errRefused
	}
	return protocol.Status{Problems: problems}, nil
}

// look returns the requests since its last call, sorted. Each is the name of a pod, followed by the hosts if its agent was asked.
func (a *agents) look() []string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	asked := a.asked
	a.asked = nil
	slices.Sort(asked)
	return asked
}

// follow makes the parents of a Memcached read their entries.
func (a *agents) follow(ctx context.Context, mc *cachev1alpha1.Memcached) {
	GinkgoHelper()
	entries := entriesOf(ctx, mc)
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.entries == nil {
		a.entries, a.refused = map[types.UID]protocol.Entry{}, map[types.UID]*protocol.Refusal{}
	}
	for _, pod := range pods(ctx, mc.Namespace, mc.Name) {
		entry := entries[pod.Name]
		runs := memcached.FirstList(&pod)
		if running, found := a.entries[pod.UID]; found {
			runs = running.List
		}
		switch {
		case entry.Pod != string(pod.UID):
		case a.refuses != "" && !runs.Same(entry.List):
			a.refused[pod.UID] = &protocol.Refusal{Number: entry.Number, Reason: a.refuses}
		default:
			delete(a.refused, pod.UID)
			a.entries[pod.UID] = entry
		}
	}
}

// entriesOf returns the entries for parents, by the names of the nodes. There are none without the ConfigMap.
func entriesOf(ctx context.Context, mc *cachev1alpha1.Memcached) map[string]protocol.Entry {
	GinkgoHelper()
	config := &corev1.ConfigMap{}
	err := user.Get(ctx, client.ObjectKey{Namespace: mc.Namespace, Name: mc.Name + memcached.ArgumentsSuffix}, config)
	Expect(client.IgnoreNotFound(err)).To(Succeed())
	if err != nil {
		return nil
	}
	return memcached.View{Memcached: mc, Observed: memcached.Observed{Children: []client.Object{config}}}.Entries()
}

// TestNodesOutsideTheCluster asks a parent and a sidecar through the API server, as "make run" does.
func TestNodesOutsideTheCluster(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/namespaces/shop/pods/cache-0:9150/proxy/status":
			fmt.Fprintf(w, `{"problems":[{"reason":"CertificateNames","message":%q}]}`, r.URL.RawQuery)
		case "/api/v1/namespaces/shop/pods/cache-1:9150/proxy/status":
			fmt.Fprintf(w, `{"problems":[{"message":%q}]}`, strings.Repeat("x", 4<<10))
		case "/api/v1/namespaces/shop/pods/cache-0:9151/proxy/status":
			fmt.Fprint(w, `{"number":7,"secondsInEffect":5}`)
		case "/api/v1/namespaces/shop/pods/cache-1:9151/proxy/status":
			fmt.Fprint(w, "hello")
		default:
			http.Error(w, "pods is forbidden", http.StatusForbidden)
		}
	}))
	defer server.Close()
	nodes, err := controllers.NewNodes(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{"cache-0": 7, "cache-1": 0, "cache-2": 0} {
		status, err := nodes.Ask(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}, memcached.ParentPort)
		if status.Number != want || (err == nil) != (want != 0) {
			t.Errorf("%s: %+v, %v", name, status, err)
		}
	}
	for name, want := range map[string]string{"cache-0": "host=a&host=b", "cache-1": "", "cache-2": ""} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		status, err := nodes.Ask(t.Context(), pod, memcached.MetricsPort, "a", "b")
		if (err == nil) != (want != "") || err == nil && status.Problems[0].Message != want {
			t.Errorf("%s: %+v, %v", name, status, err)
		}
	}
}
