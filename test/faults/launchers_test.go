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
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	agentprotocol "github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

// launchers simulates the launchers. In each pod of a StatefulSet, a launcher starts memcached, and restarts it with other arguments. In
// these tests, a launcher reads its argument list from the ConfigMap when the operator asks for the launcher's status.
type launchers struct {
	mutex sync.Mutex
	// ran are the argument lists with which each pod has run, oldest first.
	ran map[types.UID][]protocol.List
	// together describes violations, by namespace: one pod restarted while another ready pod did not run with its own list in the
	// ConfigMap yet.
	together map[string][]string
}

var allLaunchers = &launchers{ran: map[types.UID][]protocol.List{}, together: map[string][]string{}}

// Launcher implements controllers.Nodes. If the ConfigMap has a new argument list for the pod, Launcher records a restart with this list.
func (l *launchers) Launcher(ctx context.Context, pod *corev1.Pod) (protocol.Status, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	list, err := l.listOf(ctx, pod)
	if err != nil {
		return protocol.Status{}, err
	}
	if !l.runs(pod, list.Hash()) {
		if err := l.checkAlone(ctx, pod); err != nil {
			return protocol.Status{}, err
		}
		l.ran[pod.UID] = append(l.ran[pod.UID], list)
	}
	return protocol.Status{Hash: list.Hash(), List: list.String(), SecondsInEffect: 3600}, nil
}

// start records that a new pod runs with its argument list from the ConfigMap.
func (l *launchers) start(ctx context.Context, pod *corev1.Pod) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if list, err := l.listOf(ctx, pod); err == nil && len(l.ran[pod.UID]) == 0 {
		l.ran[pod.UID] = []protocol.List{list}
	}
}

func (l *launchers) runs(pod *corev1.Pod, hash string) bool {
	ran := l.ran[pod.UID]
	return len(ran) > 0 && ran[len(ran)-1].Hash() == hash
}

// checkAlone is called when pod restarts. It records a violation for each other ready pod that does not run with its own list in the
// ConfigMap yet. Pods that may have missed the last write do not count.
func (l *launchers) checkAlone(ctx context.Context, pod *corev1.Pod) error {
	var pods corev1.PodList
	instance := client.MatchingLabels{memcached.InstanceLabel: pod.Labels[memcached.InstanceLabel], memcached.ManagedByLabel: memcached.ManagedBy}
	if err := user.List(ctx, &pods, client.InNamespace(pod.Namespace), instance); err != nil {
		return err
	}
	config, err := argumentsOf(ctx, pod)
	if err != nil {
		return err
	}
	for i := range pods.Items {
		other := &pods.Items[i]
		if other.UID == pod.UID || !podReady(other) || len(l.ran[pod.UID]) == 0 || len(l.ran[other.UID]) == 0 ||
			mayHaveMissed(pod, config) || mayHaveMissed(other, config) {
			continue
		}
		if list, err := l.listOf(ctx, other); err == nil && !l.runs(other, list.Hash()) {
			l.together[pod.Namespace] = append(l.together[pod.Namespace], fmt.Sprintf("%s and %s restart together", pod.Name, other.Name))
		}
	}
	return nil
}

// mayHaveMissed reports whether the ConfigMap was last written soon after a pod was created. Then the operator may not have seen the pod yet,
// and the pod may have started with the former list. A real node has hardly any items when its launcher reads the new list.
func mayHaveMissed(pod *corev1.Pod, config *corev1.ConfigMap) bool {
	const soon = 5 * time.Second
	return !slices.ContainsFunc(config.ManagedFields, func(write metav1.ManagedFieldsEntry) bool {
		return write.Time != nil && write.Time.Sub(pod.CreationTimestamp.Time) >= soon
	})
}

// catchUp lets the launchers read the ConfigMap. Real launchers read it every second, even if the operator asks none of them.
func (l *launchers) catchUp(pods []*corev1.Pod) string {
	for _, pod := range pods {
		if pod.Annotations[memcached.TemplateAnnotation] == "" {
			continue // it belongs to a Deployment
		}
		if _, err := l.Launcher(context.Background(), pod); err != nil {
			return err.Error()
		}
	}
	return ""
}

func (l *launchers) restartsTogether(namespace string) []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.together[namespace]
}

// Proxy implements controllers.Nodes. It answers as if each pod of a MemcachedProxy had read the latest routes.
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

// Agent implements controllers.Nodes. It is not called, because the operators of these tests run without AskAgents.
func (*launchers) Agent(context.Context, *corev1.Pod, []string) (agentprotocol.Status, error) {
	return agentprotocol.Status{}, errors.New("no operator of these tests asks agents")
}

// listOf returns the argument list for a pod from the ConfigMap or, if the ConfigMap has none, the list with which the pod runs.
func (l *launchers) listOf(ctx context.Context, pod *corev1.Pod) (protocol.List, error) {
	config, err := argumentsOf(ctx, pod)
	if err != nil {
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

// argumentsOf returns the ConfigMap with the arguments for a pod, without content if it does not exist.
func argumentsOf(ctx context.Context, pod *corev1.Pod) (*corev1.ConfigMap, error) {
	var config corev1.ConfigMap
	name := client.ObjectKey{Namespace: pod.Namespace, Name: pod.Labels[memcached.InstanceLabel] + memcached.ArgumentsSuffix}
	return &config, client.IgnoreNotFound(user.Get(ctx, name, &config))
}

// wentBack checks that no pod has returned to an earlier argument list.
func (l *launchers) wentBack(pods []*corev1.Pod) string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, pod := range pods {
		ran := l.ran[pod.UID]
		for i, list := range ran {
			if slices.ContainsFunc(ran[:i], func(other protocol.List) bool { return other.Hash() == list.Hash() }) {
				return fmt.Sprintf("the pod %s ran %v", pod.Name, ran)
			}
		}
	}
	return ""
}

// threadsOf checks that every node runs with this number of threads, and that no node has returned to an earlier argument list.
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
		return allLaunchers.wentBack(now.pods())
	}
}

// sameArguments checks that every pod equals a new pod in template, image, resources and arguments. The ConfigMap must contain exactly
// what these pods and new pods need. With a Deployment, sameArguments only checks that the ConfigMap does not exist.
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
	if err != nil || list.Hash() != hash || list.Value("-t") != strconv.Itoa(int(cmp.Or(mc.Spec.Config.Threads, 4))) ||
		list.Value("-m") != strconv.FormatInt(mc.Spec.Config.Memory.Value()>>20, 10) {
		return fmt.Sprintf("the list %s is %v: %v", hash, list, err)
	}
	if restarted := mc.Spec.RestartedAt; restarted != nil && list.RestartedAt != restarted.UTC().Format(time.RFC3339) {
		return fmt.Sprintf("the list is of %s, the restart at %s", list.RestartedAt, restarted)
	}
	want := map[string]protocol.Section{template: {Default: hash, Nodes: map[int]string{}}}
	for ordinal := range int(mc.Spec.Size) {
		want[template].Nodes[ordinal] = hash
	}
	for _, pod := range now.pods() {
		if different := differs(pod, &set.Spec.Template, hash); different != "" {
			return pod.Name + " " + different
		}
		section, ordinal := memcached.SectionOf(pod), 0
		if _, err := fmt.Sscanf(pod.Name, cacheName+"-%d", &ordinal); err != nil {
			return err.Error()
		}
		if _, found := want[section]; !found { // a pod that was changed in place keeps the section of its first template
			want[section] = protocol.Section{Default: hash, Nodes: map[int]string{}}
		}
		want[section].Nodes[ordinal] = hash
	}
	keys := 1 + len(want)
	if mc.Spec.FillFrom != nil {
		keys++
	}
	for section, nodes := range want {
		if text := config.Data[protocol.SectionKey(section)]; text != nodes.String() || len(config.Data) != keys {
			return fmt.Sprintf("the arguments are %v, not %s for %s", config.Data, nodes, section)
		}
	}
	return ""
}

// differs describes how a pod differs from a new pod of the template. hash identifies the argument list of a new pod.
func differs(pod *corev1.Pod, template *corev1.PodTemplateSpec, hash string) string {
	allLaunchers.mutex.Lock()
	defer allLaunchers.mutex.Unlock()
	is, has := template.Spec.Containers[0], pod.Spec.Containers[0]
	switch {
	case pod.Annotations[memcached.TemplateAnnotation] != template.Annotations[memcached.TemplateAnnotation]:
		return "is of another template"
	case pod.Annotations[memcached.InPlaceAnnotation] != "":
		return "is being changed"
	case has.Image != is.Image || !equality.Semantic.DeepEqual(has.Resources, is.Resources):
		return fmt.Sprintf("has %s with %v, a new one %s with %v", has.Image, has.Resources, is.Image, is.Resources)
	case len(allLaunchers.ran[pod.UID]) > 0 && !allLaunchers.runs(pod, hash):
		return fmt.Sprintf("runs %v, a new one %s", allLaunchers.ran[pod.UID], hash)
	}
	return ""
}
