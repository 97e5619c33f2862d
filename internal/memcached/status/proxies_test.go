// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// front is a cache of three nodes and two proxies after the cluster has carried out everything.
type front struct {
	view       memcached.View
	deployment *appsv1.Deployment
	written    memcached.Written
}

const routesOfThree = "cache-%d.cache-nodes.shop.svc 3\n"

// newFront returns a front of a cache with this number of copies.
func newFront(t *testing.T, copies int32) *front {
	t.Helper()
	mc := memcachedtest.Cache(3, inStatefulSet, func(mc *cachev1alpha1.Memcached) {
		mc.Spec.Copies = copies
		mc.Spec.Proxy, mc.Status.Servers = &cachev1alpha1.MemcachedProxy{}, make([]string, 3)
		mc.Status.ObservedGeneration, mc.Status.Proxies = mc.Generation, &cachev1alpha1.MemcachedProxiesStatus{Size: 2, Ready: 2, Nodes: 3}
	})
	f := &front{}
	observed := memcached.Observed{}
	for number := range int(copies) {
		for _, pod := range setPods(3) {
			set := memcached.CopyName(mc, number)
			pod.Name = set + strings.TrimPrefix(pod.Name, "cache")
			pod.UID, pod.OwnerReferences[0].Name = types.UID(pod.Name), set
			observed.Pods = append(observed.Pods, pod)
		}
	}
	for _, object := range desired.For(memcached.NewView(mc, memcached.Observed{}, noon), memcachedtest.Options).Objects {
		live := memcachedtest.Live(t, mc, object)
		if set, ok := live.(*appsv1.StatefulSet); ok {
			setCounts(3, 3)(set)
		}
		if d, ok := live.(*appsv1.Deployment); ok {
			f.deployment = d
			settled(d)
			d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = 2, 2, 2, 2
		}
		observed.Children = append(observed.Children, live)
	}
	answers := memcached.Answers{}
	for _, name := range []string{"a", "b"} {
		pod := makePod("cache-proxy-5d4f-"+name, ofReplicaSet("cache-proxy", "5d4f"))
		pod.UID = types.UID(name)
		observed.Proxies = append(observed.Proxies, pod)
		routes := memcached.View{Memcached: mc, Observed: observed}.Routes()
		answers[pod.UID] = answerOf(protocol.ProxyStatus{Routes: routes.String(), Count: 3})
	}
	f.view = memcached.NewView(mc, observed, noon)
	f.view.Answers = answers
	return f
}

func answerOf(proxy protocol.ProxyStatus) memcached.Answer {
	return memcached.Answer{Status: protocol.Status{Proxy: &proxy}}
}

func (f *front) status() cachev1alpha1.MemcachedStatus {
	f.view = f.view.With(f.view.Observed)
	return For(f.view, desired.For(f.view, memcachedtest.Options), f.written)
}

func (f *front) routes(text string) {
	for _, child := range f.view.Children {
		if config, ok := child.(*corev1.ConfigMap); ok && config.Name == "cache-routes" {
			config.Data[protocol.RoutesKey] = text
		}
	}
}

func (f *front) last(condition metav1.Condition) {
	f.view.Memcached.Status.Conditions = []metav1.Condition{condition}
}

type frontRow struct {
	name   string
	change func(*front)
	// want is the status and the reason of Ready, Available, Progressing and Degraded.
	want string
	// message is part of the message of Ready.
	message string
}

func (r frontRow) check(t *testing.T, f *front) {
	t.Helper()
	r.change(f)
	status := f.status()
	var got []string
	for _, condition := range status.Conditions[:4] {
		got = append(got, string(condition.Status)+"/"+condition.Reason)
	}
	if strings.Join(got, " ") != r.want || !strings.Contains(status.Conditions[0].Message, r.message) {
		t.Errorf("%s: %s, not %s: %s", r.name, strings.Join(got, " "), r.want, status.Conditions[0].Message)
	}
}

func TestStatusOfProxies(t *testing.T) {
	starts := func(f *front) {
		notReady(&f.view.Proxies[0])
		revision(1)(f.deployment)
		f.deployment.Status.Conditions, f.deployment.Status.ReadyReplicas = nil, 1
	}
	misses := func(f *front) {
		f.view.Answers["a"] = answerOf(protocol.ProxyStatus{Routes: routesOfThree, Count: 3, Missed: "all"})
	}
	noneReady := func(f *front) {
		f.deployment.Status.Conditions, f.deployment.Status.ReadyReplicas = nil, 0
		for i := range f.view.Proxies {
			notReady(&f.view.Proxies[i])
			f.view.Answers[f.view.Proxies[i].UID] = answerOf(protocol.ProxyStatus{Routes: routesOfThree, Count: 3, Missed: "3 of 3 nodes"})
		}
	}
	for _, row := range []frontRow{
		{
			name: "all is well", change: func(*front) {}, want: "True/AllNodesReady True/AsExpected False/AsExpected False/AsExpected",
			message: "3 of 3 nodes and 2 of 2 proxies are ready",
		},
		{
			name: "the Deployment has just been created", change: func(f *front) {
				f.view.Proxies, f.deployment.Status = nil, appsv1.DeploymentStatus{}
			},
			want: "False/Creating False/NotReady True/Creating False/AsExpected", message: "Starting 2 proxies",
		},
		{name: "starting", change: starts, want: "False/Creating True/AsExpected True/Creating False/AsExpected", message: "1 of 2 proxies are started"},
		{
			name: "scaling", change: func(f *front) {
				f.view.Memcached.Spec.Proxy.Size, f.deployment.Generation = ptr.To(int32(4)), 2
			},
			want: "False/Scaling True/AsExpected True/Scaling False/AsExpected", message: "Scaling from 2 to 4 proxies",
		},
		{
			name: "a rollout", change: func(f *front) {
				revision(2)(f.deployment)
				f.deployment.Status.Conditions, f.deployment.Status.UpdatedReplicas, f.deployment.Status.Replicas = nil, 1, 3
			},
			want: "False/RollingOut True/AsExpected True/RollingOut False/AsExpected", message: "1 of 2 proxies are updated",
		},
		{
			name: "a rollout that hangs", change: func(f *front) {
				f.deployment.Status.Conditions, f.deployment.Status.UpdatedReplicas, f.deployment.Status.Replicas = nil, 1, 3
				progress("ProgressDeadlineExceeded")(f.deployment)
			},
			want: "False/Stuck True/AsExpected False/Stuck False/AsExpected", message: "The rollout of the proxies cannot continue: ",
		},
		{
			name: "one proxy is away", change: func(f *front) { notReady(&f.view.Proxies[0]) },
			want: "False/NotReady True/AsExpected False/AsExpected False/AsExpected", message: "3 of 3 nodes and 1 of 2 proxies are ready",
		},
		{
			name: "a proxy misses a node", change: misses,
			want:    "False/NotReady True/AsExpected False/AsExpected False/AsExpected",
			message: "3 of 3 nodes and 2 of 2 proxies are ready; cache-proxy-5d4f-a misses all",
		},
		{
			name: "it misses them from its start", change: func(f *front) { misses(f); starts(f) },
			want:    "False/Creating True/AsExpected True/Creating False/AsExpected",
			message: "1 of 2 proxies are started; cache-proxy-5d4f-a misses all",
		},
		{
			name: "it has waited for DNS for a minute", change: func(f *front) { misses(f); silent(-60, -60, -60)(&f.view.Proxies[0]) },
			want: "False/NodesUnresponsive True/AsExpected False/AsExpected True/NodesUnresponsive", message: "cache-proxy-5d4f-a misses all",
		},
		{
			name: "no room for a proxy", change: func(f *front) { noRoomFor(&f.view.Proxies[0]) },
			want:    "False/Unschedulable True/AsExpected False/AsExpected True/Unschedulable",
			message: "Lower spec.proxy.resources or spec.config.maxConnections, or add cluster nodes",
		},
		{
			name: "the quota has no room for a proxy", change: func(f *front) {
				starts(f)
				refused("exceeded quota: q, requested: memory=72Mi")(f.deployment)
			},
			want:    "False/QuotaExceeded True/AsExpected False/Stuck True/QuotaExceeded",
			message: "Lower spec.config.maxConnections, spec.proxy.resources, spec.proxy.size or,",
		},
		{
			name: "no node can start, so no proxy reaches one", change: func(f *front) {
				for i := range f.view.Pods {
					noRoomFor(&f.view.Pods[i])
				}
				noneReady(f)
			},
			want: "False/Unschedulable False/NotReady False/Stuck True/Unschedulable", message: "Lower spec.resources or spec.config.memory, or add",
		},
		{
			name: "nobody needs the cache, and without nodes no proxy is ready", change: func(f *front) {
				f.view.Memcached.Spec.Size, f.view.Pods = 0, nil
				for _, child := range f.view.Children {
					if set, ok := child.(*appsv1.StatefulSet); ok {
						setCounts(0, 0)(set)
						set.Spec.Replicas = ptr.To(int32(0))
					}
				}
				noneReady(f)
			},
			want: "True/AllNodesReady True/AsExpected False/AsExpected False/AsExpected", message: "0 of 0 nodes and 0 of 2 proxies are ready",
		},
		{
			name: "all proxies have failed", change: func(f *front) { f.view.Proxies = nil },
			want: "False/NotReady False/NotReady False/AsExpected False/AsExpected",
		},
		{
			name: "the first proxies of a cache that is in use", change: func(f *front) {
				starts(f)
				notReady(&f.view.Proxies[1])
				f.view.Memcached.Status.Proxies = nil
				f.last(metav1.Condition{Type: available, Status: is, Reason: "AsExpected"})
			},
			want: "False/Creating True/AsExpected True/Creating False/AsExpected",
		},
		{
			name: "no Service leads to them", change: func(f *front) {
				for i, child := range f.view.Children {
					if service, ok := child.(*corev1.Service); ok && service.Name == "cache" {
						f.view.Children = append(f.view.Children[:i:i], f.view.Children[i+1:]...)
					}
				}
			},
			want: "True/AllNodesReady False/NotReady False/AsExpected False/AsExpected",
		},
		{
			name: "routes are announced", change: func(f *front) { f.routes("cache-%d.cache-nodes.shop.svc 2 next 3 2026-11-20T12:02:00Z\n") },
			want:    "False/Scaling True/AsExpected True/Scaling False/AsExpected",
			message: "From 12:02:00 UTC on, all proxies lead to 3 nodes instead of 2; 0 of 2 proxies have the new routes",
		},
		{
			name: "a proxy has not read them in time", change: func(f *front) {
				f.routes("cache-%d.cache-nodes.shop.svc 2 next 3 2026-11-20T11:59:00Z\n")
				f.view.Answers["a"] = answerOf(protocol.ProxyStatus{Routes: "cache-%d.cache-nodes.shop.svc 2 next 3 2026-11-20T11:59:00Z\n", Count: 3})
			},
			want:    "False/Scaling True/AsExpected True/Scaling False/AsExpected",
			message: "1 of 2 proxies have the new routes, to 3 nodes",
		},
		{
			name: "a proxy does not answer while they change", change: func(f *front) {
				f.view.Answers["a"] = memcached.Answer{Failure: "timed out"}
				f.last(metav1.Condition{Type: progressing, Status: is, Reason: "Scaling", Message: "1 of 2 proxies have the new routes, to 3 nodes"})
			},
			want:    "False/Scaling True/AsExpected True/Scaling False/AsExpected",
			message: "1 of 2 proxies have the new routes, to 3 nodes. cache-proxy-5d4f-a does not answer the operator: timed out",
		},
		{
			name: "a proxy does not answer otherwise", change: func(f *front) { f.view.Answers["a"] = memcached.Answer{Failure: "timed out"} },
			want: "True/AllNodesReady True/AsExpected False/AsExpected False/AsExpected",
		},
		{
			name: "a node is away after the proxies changed", change: func(f *front) {
				notReady(&f.view.Pods[0])
				f.last(metav1.Condition{Type: progressing, Status: is, Reason: "RollingOut", Message: "1 of 2 proxies are updated"})
			},
			want: "False/NotReady True/AsExpected False/AsExpected False/AsExpected", message: "2 of 3 nodes and 2 of 2 proxies are ready",
		},
		{
			name: "nodes change before proxies", change: func(f *front) { starts(f); f.view.Memcached.Spec.Size = 4 },
			want: "False/Creating True/AsExpected True/Creating False/AsExpected", message: "3 of 4 nodes are started",
		},
		{
			name: "an object cannot be written", change: func(f *front) {
				starts(f)
				f.written.Problem = &memcached.Problem{Reason: "Conflict", Message: "It is another's"}
			},
			want: "False/Conflict True/AsExpected False/Stuck True/Conflict", message: "It is another's",
		},
	} {
		row.check(t, newFront(t, 1))
	}
}

func TestFieldsOfProxies(t *testing.T) {
	f := newFront(t, 1)
	f.routes("cache-%d.cache-nodes.shop.svc 3 next 4 2026-11-20T12:02:00Z\n")
	for _, want := range []cachev1alpha1.MemcachedProxiesStatus{{Size: 2, Ready: 2, Nodes: 3}, {Size: 2, Ready: 2, Nodes: 4}} {
		status := f.status()
		if diff := cmp.Diff(&want, status.Proxies); diff != "" || status.Address != "cache.shop.svc:11211" {
			t.Errorf("%s (-want +got):\n%s", status.Address, diff)
		}
		f.view.Now = noon.Add(2 * time.Minute)
	}
	f.view.Memcached.Spec.Proxy = nil
	if status := f.status(); status.Proxies != nil || status.Address != "" {
		t.Errorf("without proxies: %+v", status)
	}
}

// TestUptake checks which proxies count as having the routes, and the message about a proxy that does not count.
func TestUptake(t *testing.T) {
	refused := &protocol.RefusedRoutes{Routes: routesOfThree, Reason: "memcached cannot read them"}
	for name, row := range map[string]struct {
		answer  memcached.Answer
		have    int32
		differs bool
		failure string
	}{
		"it has them":               {answer: answerOf(protocol.ProxyStatus{Routes: routesOfThree, Count: 3}), have: 2},
		"it has others":             {answer: answerOf(protocol.ProxyStatus{Routes: "others", Count: 3}), have: 1, differs: true},
		"it leads to fewer nodes":   {answer: answerOf(protocol.ProxyStatus{Routes: routesOfThree, Count: 2}), have: 1, differs: true},
		"memcached reads them":      {answer: answerOf(protocol.ProxyStatus{Routes: routesOfThree, Count: 3, Reloading: true}), have: 1, differs: true},
		"it refused an earlier one": {answer: answerOf(protocol.ProxyStatus{Routes: routesOfThree, Count: 3, Refused: refused}), have: 2},
		"it refused them": {
			answer: answerOf(protocol.ProxyStatus{Routes: "others", Count: 3, Refused: refused}), have: 1, differs: true,
			failure: ": memcached cannot read them",
		},
		"memcached refused them": {
			answer: answerOf(protocol.ProxyStatus{Routes: routesOfThree, Count: 3, Reloading: true, Refused: refused}), have: 1, differs: true,
			failure: ": memcached cannot read them",
		},
		"it does not answer": {answer: memcached.Answer{Failure: "timed out"}, have: 1, failure: " does not answer the operator: timed out"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFront(t, 1)
			f.view.Answers["a"] = row.answer
			want := uptake{have: row.have, of: 2, differs: row.differs}
			if row.failure != "" {
				want.failure = "cache-proxy-5d4f-a" + row.failure
			}
			if got := uptakeOf(f.view); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// The parents of proxies are asked again soon while routes change, but not while all only wait for an announced number of nodes.
func TestProxiesAreAskedAgain(t *testing.T) {
	const next = "cache-%d.cache-nodes.shop.svc 2 next 3 2026-11-20T12:02:00Z\n"
	for text, want := range map[string]time.Duration{routesOfThree: 20 * time.Second, next: 5 * time.Second} {
		f := newFront(t, 1)
		f.routes(text)
		if got := RequeueAfter(f.view, f.status()); got != want {
			t.Errorf("with %q after %s, not %s", text, got, want)
		}
		for uid := range f.view.Answers {
			f.view.Answers[uid] = answerOf(protocol.ProxyStatus{Routes: next, Count: 2})
		}
		if got := RequeueAfter(f.view, f.status()); text == next && got != 20*time.Second {
			t.Errorf("when all have read them, after %s", got)
		}
	}
}

// What proxies cannot forget of a Secret, only their replacement makes them forget.
func TestProxiesThatMustRestart(t *testing.T) {
	f := newFront(t, 1)
	f.view.Memcached.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "front-tls"}
	f.view.Agents = memcached.AgentReports{Nodes: []memcached.AgentReport{{
		Pod: "cache-proxy-5d4f-a", Proxy: true, Problems: []protocol.Problem{{Reason: protocol.ReasonRestartRequired, Message: "it is known still"}},
	}}}
	told := conditionOf(f.status(), attention)
	message := told.Reason + ": " + told.Message
	if want := `RestartRequired: Pod cache-proxy-5d4f-a says: "it is known still". To replace the proxies: kubectl rollout restart ` +
		"deployment cache-proxy -n shop"; message != want {
		t.Errorf("%s, not %s", message, want)
	}
}
