// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// reportDeadline bounds the report of a failure: the cluster may be what failed.
	reportDeadline = 10 * time.Second
	// reportedLines is how much of the operator's log a failure shows.
	reportedLines = 30
)

// report shows what a person would look at to find out why a step did not come true. What cannot be read is left out.
func (d *demo) report(ctx context.Context) {
	if d.cluster == nil {
		return // there is nothing to look at
	}
	ctx, cancel := context.WithTimeout(ctx, reportDeadline)
	defer cancel()
	d.out.title("A step did not come true. This is what there is:")
	for _, table := range []struct {
		command string
		what    resource
	}{
		{"kubectl get mc -o wide", resource{path: memcachedsPath, wide: true}},
		{"kubectl get deployment -o wide", resource{path: "/apis/apps/v1/namespaces/" + namespace + "/deployments", wide: true}},
		{"kubectl get pods -o wide", resource{path: podsPath, wide: true}},
		{"kubectl get events", resource{path: "/api/v1/namespaces/" + namespace + "/events"}},
	} {
		if err := d.show(ctx, table.command, table.what); err != nil {
			d.out.block(err.Error())
		}
	}
	if mc, err := d.memcached(ctx); err == nil {
		lines := [][]string{{"CONDITION", "STATUS", "REASON", "GENERATION", "MESSAGE"}}
		for _, c := range mc.Status.Conditions {
			lines = append(lines, []string{
				c.Type, string(c.Status), c.Reason, fmt.Sprint(c.ObservedGeneration), c.Message,
			})
		}
		d.out.title("Conditions of " + sampleName + ":")
		d.out.block(align(lines))
	}
	if d.operator != nil {
		d.out.title("The end of the operator's log:")
		d.out.block(d.operator.Tail(reportedLines))
	}
}

// stay leaves the cluster to the user until Ctrl-C.
func (d *demo) stay(ctx context.Context) error {
	kubeconfig, err := d.cluster.KubeconfigFile("admin", "system:masters")
	if err != nil {
		return err
	}
	d.out.title("The story is told. The cluster and the operator stay until Ctrl-C. In another terminal, try:")
	d.out.block("export KUBECONFIG=" + kubeconfig + `
kubectl apply -f ` + sampleFile + `
kubectl get mc --watch
kubectl scale ` + sampleCommand + ` --replicas 4
kubectl describe ` + sampleCommand + `
kubectl explain mc.spec`)
	d.out.line("")
	d.out.line("make install, make deploy and make run work on this cluster as well. No container runs on its nodes: pods are")
	d.out.line("only said to be Ready, those of make deploy too. To let make run take over, end the operator of the demo first:")
	d.out.block(fmt.Sprintf("kill %d", d.operator.Pid()))
	d.out.line("Its log is " + d.operatorLog())
	return d.waitForInterrupt(ctx)
}

func (d *demo) waitForInterrupt(ctx context.Context) error {
	operatorDone := d.operator.Done()
	for {
		select {
		case <-ctx.Done():
			d.out.title("Stopping and removing everything.")
			return nil
		case err := <-d.cluster.Failed():
			return err
		case <-operatorDone:
			d.out.title("The operator of the demo has ended. The cluster stays until Ctrl-C.")
			operatorDone = nil
		}
	}
}
