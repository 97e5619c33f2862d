// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/internal/memcached"
)

// changing reports whether a change of the routes is in progress: an announced number of nodes has not taken effect yet, or the last
// status still counts the proxies that have the routes.
func (v View) changing() bool {
	live, reported := v.liveRoutes(), v.Proxy.Status.Routes
	return live != nil && (live.Pool.Wait(v.Now) > 0 || reported != nil && reported.Proxies != nil)
}

// serving returns the ready proxies, sorted by name, so that the same answers always give the same status.
func (v View) serving() (pods []*corev1.Pod) {
	for _, pod := range v.Workload().Nodes(v.Pods) {
		if memcached.PodReady(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// missed returns the end of a message that says which proxies cannot use which nodes. It is empty if there are none.
func (v View) missed() (words string) {
	for _, pod := range v.Workload().Nodes(v.Pods) {
		if missed := v.Answers[pod.UID].Status.Missed; missed != "" {
			words += fmt.Sprintf("; %s misses %s", pod.Name, missed)
		}
	}
	return words
}

// uptake is the progress of a change of the routes.
type uptake struct {
	// The field "of" is the number of ready proxies. The field "have" is how many of them have read the ConfigMap's routes, and use
	// the number of nodes that the routes prescribe now.
	have, of int32
	// failure says why one of the ready proxies did not answer, or why it refused the routes. Otherwise, failure is empty.
	failure string
}

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
