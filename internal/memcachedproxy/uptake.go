// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/internal/memcached"
)

// changing reports whether some proxies may not have the ConfigMap's routes yet. This is so until an announced number of nodes takes
// effect, and while the last status reports a change.
func (v View) changing() bool {
	live, reported := v.liveRoutes(), v.Proxy.Status.Routes
	return live != nil && (live.Pool.Wait(v.Now) > 0 || reported != nil && reported.Proxies != nil)
}

// serving returns the proxies that clients reach. It sorts them by name, because the same answers must give the same status.
func (v View) serving() (pods []*corev1.Pod) {
	for _, pod := range v.Workload().Nodes(v.Pods) {
		if memcached.PodReady(pod) {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

// uptake counts the proxies that have read the ConfigMap's routes. Once an announced number of nodes has taken effect, a proxy counts only
// if it uses this number.
type uptake struct {
	have, of int32
	// failure is why one of the other proxies did not answer or refused the routes, or empty.
	failure string
}

// complete reports whether all proxies have the routes.
func (a uptake) complete() bool { return a.have == a.of }

func (v View) uptake() (a uptake) {
	live := v.liveRoutes()
	for _, pod := range v.serving() {
		a.of++
		switch answer := v.Answers[pod.UID]; {
		case answer.Failure != "":
			a.failure = fmt.Sprintf("%s does not answer the operator: %s", pod.Name, answer.Failure)
		case answer.Status.Refused != nil && (answer.Status.Routes != live.String() || answer.Status.Reloading):
			a.failure = fmt.Sprintf("%s: %s", pod.Name, answer.Status.Refused.Reason)
		case answer.Status.Routes != live.String() || answer.Status.Reloading || answer.Status.Count != live.Pool.At(v.Now):
		default:
			a.have++
		}
	}
	return a
}
