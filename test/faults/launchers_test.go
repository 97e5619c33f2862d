// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	agentprotocol "github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

// launchers simulates the launchers of all pods. What one runs outlives the operator, and changes when it is asked: its kubelet has just
// brought the ConfigMap.
type launchers struct {
	mutex sync.Mutex
	// ran are the lists that each pod has run with, in order.
	ran map[types.UID][]protocol.List
}

var allLaunchers = &launchers{ran: map[types.UID][]protocol.List{}}

// Launcher implements controllers.Nodes.
func (l *launchers) Launcher(ctx context.Context, pod *corev1.Pod) (protocol.Status, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	list, err := l.listOf(ctx, pod)
	if err != nil {
		return protocol.Status{}, err
	}
	if ran := l.ran[pod.UID]; len(ran) == 0 || ran[len(ran)-1].Hash() != list.Hash() {
		l.ran[pod.UID] = append(ran, list)
	}
	return protocol.Status{Hash: list.Hash(), List: list.String(), SecondsInEffect: 3600}, nil
}

// Proxy implements controllers.Nodes.
func (*launchers) Proxy(ctx context.Context, pod *corev1.Pod) (protocol.ProxyStatus, error) {
	var config corev1.ConfigMap
	name := client.ObjectKey{Namespace: pod.Namespace, Name: pod.Labels[memcached.InstanceLabel] + memcachedproxy.RoutesSuffix}
	if err := user.Get(ctx, name, &config); err != nil {
		return protocol.ProxyStatus{}, err
	}
	text := config.Data[protocol.RoutesKey]
	routes, err := protocol.ParseRoutes(text)
	return protocol.ProxyStatus{Routes: text, Count: routes.Pool.At(clockOf(pod.Namespace).Now())}, err
}

// Agent implements controllers.Nodes. Agents are asked beside the reconciliations, so that what they say is no part of a scenario.
func (*launchers) Agent(context.Context, *corev1.Pod, []string) (agentprotocol.Status, error) {
	return agentprotocol.Status{}, errors.New("no operator of these tests asks agents")
}

// listOf is the list that the ConfigMap has for a pod, or the one that it runs with.
func (l *launchers) listOf(ctx context.Context, pod *corev1.Pod) (protocol.List, error) {
	var config corev1.ConfigMap
	name := client.ObjectKey{Namespace: pod.Namespace, Name: pod.Labels[memcached.InstanceLabel] + memcached.ArgumentsSuffix}
	if err := client.IgnoreNotFound(user.Get(ctx, name, &config)); err != nil {
		return protocol.List{}, err
	}
	section, err := protocol.ParseSection(config.Data[protocol.SectionKey(memcached.SectionOf(pod))])
	if err != nil {
		return protocol.List{}, err
	}
	ordinal, _ := memcached.Ordinal(pod)
	hash, ran := section.Nodes[ordinal], l.ran[pod.UID]
	if hash == "" && len(ran) == 0 {
		hash = section.Default
	}
	list, err := protocol.ParseList(config.Data[protocol.ListKey(hash)])
	if err != nil && len(ran) > 0 {
		return ran[len(ran)-1], nil
	}
	return list, err
}

// wentBack reports a pod that has run a list twice.
func (l *launchers) wentBack() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for uid, ran := range l.ran {
		for i, list := range ran {
			if slices.ContainsFunc(ran[:i], func(other protocol.List) bool { return other.Hash() == list.Hash() }) {
				return fmt.Sprintf("the pod %s ran %v", uid, ran)
			}
		}
	}
	return ""
}

// threadsOf reports what is missing until every node of the cache runs with so many threads, and none has gone back.
func threadsOf(r *scenarioRun, threads string) func(objects) string {
	return func(now objects) string {
		for _, object := range now {
			pod, ok := object.(*corev1.Pod)
			if !ok || pod.Annotations[memcached.TemplateAnnotation] == "" {
				continue
			}
			if status, err := allLaunchers.Launcher(r.ctx, pod); err != nil {
				return err.Error()
			} else if list, err := protocol.ParseList(status.List); err != nil || list.Value("-t") != threads {
				return fmt.Sprintf("%s runs with %s threads: %v", pod.Name, list.Value("-t"), err)
			}
		}
		return allLaunchers.wentBack()
	}
}

// sameArguments reports what is missing until every pod runs what a new one would run, and the ConfigMap has nothing else.
func sameArguments(now objects) string {
	mc := get[*cachev1alpha1.Memcached](now, "memcacheds")
	config, _ := now["configmaps/"+cacheName+memcached.ArgumentsSuffix].(*corev1.ConfigMap)
	set := get[*appsv1.StatefulSet](now, "statefulsets")
	switch {
	case wantedKind(mc) != cachev1alpha1.WorkloadStatefulSet && config == nil:
		return ""
	case wantedKind(mc) != cachev1alpha1.WorkloadStatefulSet, config == nil, set == nil, mc.Status.LastApplied == nil:
		return fmt.Sprintf("the arguments are %v", config)
	}
	hash, template := mc.Status.LastApplied.ArgumentsHash, set.Spec.Template.Annotations[memcached.TemplateAnnotation]
	list, err := protocol.ParseList(config.Data[protocol.ListKey(hash)])
	if err != nil || list.Hash() != hash || list.Value("-t") != strconv.Itoa(int(cmp.Or(mc.Spec.Config.Threads, 4))) {
		return fmt.Sprintf("the list %s is %v: %v", hash, list, err)
	}
	if restarted := mc.Spec.RestartedAt; restarted != nil && list.RestartedAt != restarted.UTC().Format(time.RFC3339) {
		return fmt.Sprintf("the list is of %s, the restart at %s", list.RestartedAt, restarted)
	}
	want := protocol.Section{Default: hash, Nodes: map[int]string{}}
	for ordinal := range int(mc.Spec.Size) {
		want.Nodes[ordinal] = hash
	}
	keys := 2
	if mc.Spec.FillFrom != nil {
		keys++
	}
	if text := config.Data[protocol.SectionKey(template)]; text != want.String() || len(config.Data) != keys {
		return fmt.Sprintf("the arguments are %v, not %s for %s", config.Data, want, template)
	}
	for _, pod := range now.pods() {
		if pod.Annotations[memcached.TemplateAnnotation] != template {
			return pod.Name + " is of another template"
		}
	}
	return ""
}
