// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"
)

const (
	// reportDeadline limits the report of a failure, because the cluster itself may have failed.
	reportDeadline = 10 * time.Second
	// reportedLines is how many lines of the operator's log a report shows.
	reportedLines = 30
)

// report shows what helps to find out why a step failed: objects, events, conditions and the operator's log.
func (d *demo) report(ctx context.Context) {
	if d.k8s == nil {
		return // there is no cluster yet
	}
	ctx, cancel := context.WithTimeout(ctx, reportDeadline)
	defer cancel()
	d.out.title("A step did not come true. This is what there is:")
	commands := []string{
		getMemcacheds + " -o wide", "kubectl get deployment,pods -o wide", "kubectl get events", "kubectl describe " + sampleCommand,
	}
	if log := d.stage.logCommand(); log != "" {
		commands = append(commands, log)
	}
	for _, command := range commands {
		if err := d.run(ctx, command); err != nil {
			d.out.block(err.Error())
		}
	}
}
