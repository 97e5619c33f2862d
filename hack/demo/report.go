// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

const (
	// reportDeadline bounds the report of a failure: the cluster may be what failed.
	reportDeadline = 10 * time.Second
	// reportedLines is how much of the operator's log a failure shows.
	reportedLines = 30
)

// report shows objects, events, conditions and the operator's log, to find out why a step did not come true. It leaves out what
// cannot be read.
func (d *demo) report(ctx context.Context) {
	if d.k8s == nil {
		return // there is nothing to look at
	}
	ctx, cancel := context.WithTimeout(ctx, reportDeadline)
	defer cancel()
	d.out.title("A step did not come true. This is what there is:")
	for _, table := range []struct {
		command string
		what    resource
	}{
		{"kubectl get memc -o wide", resource{path: memcachedsPath, wide: true}},
		{"kubectl get deployment -o wide", resource{path: "/apis/apps/v1/namespaces/" + namespace + "/deployments", wide: true}},
		{"kubectl get pods -o wide", resource{path: podsPath, wide: true}},
		{"kubectl get events", resource{path: "/api/v1/namespaces/" + namespace + "/events"}},
	} {
		if err := d.show(ctx, table.command, table.what); err != nil {
			d.out.block(err.Error())
		}
	}
	mc := &cachev1alpha1.Memcached{}
	if err := d.k8s.Get(ctx, sampleKey, mc); err == nil {
		lines := [][]string{{"CONDITION", "STATUS", "REASON", "GENERATION", "MESSAGE"}}
		for _, c := range mc.Status.Conditions {
			lines = append(lines, []string{
				c.Type, string(c.Status), c.Reason, fmt.Sprint(c.ObservedGeneration), c.Message,
			})
		}
		d.out.title("Conditions of " + sampleName + ":")
		d.out.block(align(lines))
	}
	if log := d.stage.operatorLog(ctx); log != "" {
		d.out.title("The end of the operator's log:")
		d.out.block(log)
	}
}
