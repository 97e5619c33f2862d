// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

// parents simulates memcached's parents in the pods of StatefulSets. In these tests, a parent reads its entry when the simulated kubelet
// acts on its pod, and when the operator asks for its status.
type parents struct {
	mutex   sync.Mutex
	running map[types.UID]process
}

// process is memcached in one pod.
type process struct {
	// list has the arguments in effect, and number is that of their entry, 0 for the arguments of the first start.
	list    protocol.List
	number  int64
	refused *protocol.Refusal
}

var allParents = &parents{running: map[types.UID]process{}}

// refusedThreads is a number of threads with which the simulated memcached does not start.
const refusedThreads = 7

// Ask implements controllers.Nodes. There is no answer while memcached's container does not run.
func (all *parents) Ask(ctx context.Context, pod *corev1.Pod, _ int, _ ...string) (protocol.Status, error) {
	if pod.Labels[memcached.NameLabel] == memcached.ProxyName {
		return proxyStatus(ctx, pod)
	}
	if status := memcached.StatusOf(pod, memcached.ContainerName); status == nil || status.State.Running == nil {
		return protocol.Status{}, errors.New("connection refused")
	}
	p, err := all.follow(ctx, pod)
	return protocol.Status{Number: p.number, List: p.list, SecondsInEffect: 3600, Refused: p.refused}, err
}

// follow lets the parent of a pod read its entry, and returns what memcached then runs with.
func (all *parents) follow(ctx context.Context, pod *corev1.Pod) (process, error) {
	all.mutex.Lock()
	defer all.mutex.Unlock()
	p, started := all.running[pod.UID]
	if !started {
		p.list = memcached.FirstList(pod)
	}
	var config corev1.ConfigMap
	name := client.ObjectKey{Namespace: pod.Namespace, Name: pod.Labels[memcached.InstanceLabel] + memcached.ArgumentsSuffix}
	if err := client.IgnoreNotFound(user.Get(ctx, name, &config)); err != nil {
		return p, err
	}
	switch entry := entryOf(&config, pod); {
	case entry.Number == 0 || entry.Number == p.number || p.refused != nil && p.refused.Number == entry.Number: // nothing new
	case entry.Value("-t") == strconv.Itoa(refusedThreads):
		p.refused = &protocol.Refusal{Number: entry.Number, Reason: "too many threads"}
	default:
		p.list, p.number, p.refused = entry.List, entry.Number, nil
	}
	all.running[pod.UID] = p
	return p, nil
}

// entryOf returns the entry for a pod, which is empty if there is none.
func entryOf(config *corev1.ConfigMap, pod *corev1.Pod) protocol.Entry {
	ordinal, _ := memcached.Ordinal(pod)
	entry, err := protocol.ParseEntry(config.Data[protocol.EntryKey(ordinal)])
	if err != nil || entry.Pod != string(pod.UID) {
		return protocol.Entry{}
	}
	return entry
}

// proxyStatus answers as if each pod of a MemcachedProxy had read the latest routes.
func proxyStatus(ctx context.Context, pod *corev1.Pod) (protocol.Status, error) {
	var config corev1.ConfigMap
	name := client.ObjectKey{Namespace: pod.Namespace, Name: pod.Labels[memcached.InstanceLabel] + memcachedproxy.RoutesSuffix}
	if err := user.Get(ctx, name, &config); err != nil {
		return protocol.Status{}, err
	}
	text := config.Data[protocol.RoutesKey]
	routes, err := protocol.ParseRoutes(text)
	return protocol.Status{Proxy: &protocol.ProxyStatus{Routes: text, Count: routes.Pool.At(clockOf(pod.Namespace).Now())}}, err
}

// listIn returns the arguments that a pod was last asked for.
func listIn(now objects, pod *corev1.Pod) protocol.List {
	if config, ok := now["configmaps/"+cacheName+memcached.ArgumentsSuffix].(*corev1.ConfigMap); ok {
		if entry := entryOf(config, pod); entry.Number != 0 {
			return entry.List
		}
	}
	return memcached.FirstList(pod)
}

// atTarget checks that every pod of a StatefulSet is what a new pod would be, and what the spec asks for. It also checks that no entry and
// no record of a refusal is left that no pod needs.
func atTarget(now objects) string {
	mc, set := get[*cachev1alpha1.Memcached](now, "memcacheds"), get[*appsv1.StatefulSet](now, "statefulsets")
	config, _ := now["configmaps/"+cacheName+memcached.ArgumentsSuffix].(*corev1.ConfigMap)
	if set == nil || wantedKind(mc) != cachev1alpha1.WorkloadStatefulSet {
		if config != nil {
			return fmt.Sprintf("there are entries: %v", config.Data)
		}
		return ""
	}
	first := memcached.FirstList(&corev1.Pod{Spec: set.Spec.Template.Spec})
	if first.Value("-t") != strconv.Itoa(int(cmp.Or(mc.Spec.Config.Threads, 4))) ||
		first.Value("-m") != strconv.FormatInt(mc.Spec.Config.Memory.Value()>>20, 10) ||
		mc.Spec.RestartedAt != nil && first.Restart != mc.Spec.RestartedAt.UTC().Format(time.RFC3339) {
		return fmt.Sprintf("a new pod would run with %+v", first)
	}
	entries := 0
	for _, pod := range now.pods() {
		if different := differs(now, pod, &set.Spec.Template, first); different != "" {
			return pod.Name + " " + different
		}
		if config != nil && entryOf(config, pod).Number != 0 {
			entries++
		}
	}
	if mc.Spec.FillFrom != nil {
		entries++
	}
	if config != nil && len(config.Data) != entries {
		return fmt.Sprintf("there are %d entries for pods that exist: %v", entries, config.Data)
	}
	return ""
}

// leastLimit returns a limit that memcached exceeds with these arguments: the memory for items, and what the default number of connections
// and one thread need.
func leastLimit(list protocol.List) int64 {
	const others = 78
	items, _ := strconv.ParseInt(list.Value("-m"), 10, 64)
	return (items + others) << 20
}

// differs describes how a pod differs from a new pod of the template, which starts with the arguments first.
func differs(now objects, pod *corev1.Pod, template *corev1.PodTemplateSpec, first protocol.List) string {
	is, has := template.Spec.Containers[0], pod.Spec.Containers[0]
	newest, _ := memcached.AskedOf(template.Annotations)
	asked, _ := memcached.AskedOf(pod.Annotations)
	p, err := allParents.follow(context.Background(), pod) // real parents read their entries even if the operator asks none of them
	switch {
	case err != nil:
		return err.Error()
	case asked.Template != newest.Template || asked.Resources != newest.Resources || asked.Refused != nil:
		return fmt.Sprintf("was asked for %+v, a new one for %+v", asked, newest)
	case has.Image != is.Image || has.Resources.Limits.Memory().Value() < leastLimit(first):
		return fmt.Sprintf("has %s with %v, a new one %s with %v", has.Image, has.Resources, is.Image, is.Resources)
	case !p.list.Same(first) || !listIn(now, pod).Same(first):
		return fmt.Sprintf("runs %+v, a new one %+v", p, first)
	}
	return ""
}
