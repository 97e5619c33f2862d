// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// requestsOf returns the requests of an operator that sends the same requests for each of n Memcacheds.
func requestsOf(n int, each ...request) []request {
	var requests []request
	for i := range n {
		for _, r := range each {
			r.object, r.code = types.NamespacedName{Name: fmt.Sprint(i)}, http.StatusOK
			requests = append(requests, r)
		}
	}
	return requests
}

// TestMonitoringCostsNoMore compares the requests for 10 monitored Memcacheds with those for 40 without monitoring. The 40 cause two
// writes each, and one list and one watch in total.
func TestMonitoringCostsNoMore(t *testing.T) {
	child, status := request{verb: "patch", resource: "deployments"}, request{verb: "patch", resource: "memcacheds/status"}
	event, lease := request{verb: "create", resource: "events"}, request{verb: "update", resource: "leases"}
	pods, nodes := request{verb: "watch", resource: "pods"}, request{verb: "watch", resource: "nodes"}
	proxies, others := request{verb: "list", resource: "memcachedproxies"}, request{verb: "list", resource: "pods"}
	without := append(requestsOf(40, child, status), pods, proxies)
	for name, test := range map[string]struct {
		with []request
		more float64
	}{
		"the same":                 {append(requestsOf(10, child, status), pods, proxies), 0},
		"watched again":            {append(requestsOf(10, child, status), pods, pods), 0},
		"fewer":                    {requestsOf(10, child), 0},
		"events and leases":        {requestsOf(10, child, status, event, lease), 0},
		"another status":           {append(requestsOf(10, child, status), status), 0.1},
		"a child for a status":     {requestsOf(10, child, child), 1},
		"a GET":                    {append(requestsOf(10, child, status), request{verb: "get", resource: "pods"}), 0.1},
		"a list more":              {append(requestsOf(10, child, status), proxies, proxies), 0.1},
		"a question to a node":     {append(requestsOf(10, child, status), request{verb: "get", resource: "pods/proxy"}), 0},
		"a list of a second Kind":  {append(requestsOf(10, child, status), proxies, others), 1},
		"a watch of a second Kind": {append(requestsOf(10, child, status), pods, nodes), 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{plain: costs{restarted: costOfStart(without, 40)}}
			b.holdNoMore(costs{restarted: costOfStart(test.with, 10), created: costOf(test.with, 10)})
			wanted := holds
			if test.more > 0 {
				wanted = missed
			}
			want := map[string]verdict{
				"requests per resource with monitoring, beyond those without: restart " + number(test.more): wanted,
			}
			if diff := cmp.Diff(want, verdicts(b.report.Results)); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
		})
	}
}
