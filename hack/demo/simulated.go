// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/example/memcached-operator/test/operator"
	"github.com/example/memcached-operator/test/simulated"
)

const createSimple = `kubectl apply -f - <<END
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: sessions}
spec: {size: 3}
END`

// simulatedStory needs no memcached. A Deployment's nodes have no agents, so their simulated pods suffice.
func (d *demo) simulatedStory() []chapter {
	return []chapter{
		{"The operator runs. Kubernetes is real, except that no pod runs", []step{d.shell("kubectl get nodes")}},
		{"A cache with three nodes", []step{
			d.change(createSimple, sessions, 3), d.shell("kubectl get deployments,services,poddisruptionbudgets"),
		}},
		{"It is scaled from 3 to 5", []step{d.change("kubectl scale memc sessions --replicas 5", sessions, 5)}},
		{"Mistakes, and what kubectl says about them", []step{
			d.shell(`kubectl patch memc sessions --type merge -p '{"spec":{"storage":{"type":"MemoryFile"}}}' || true`),
			d.shell(`kubectl patch memc sessions --type merge -p '{"spec":{"scheduling":{"nodeSelector":{"disk":"fast"}}}}'`),
			d.until(sessions, "cannot be scheduled"), d.shell("kubectl get memc sessions"),
			d.change(`kubectl patch memc sessions --type json -p '[{"op": "remove", "path": "/spec/scheduling"}]'`, sessions, 5),
		}},
		{"It is deleted, and nothing is left", []step{d.shell("kubectl delete memc sessions"), d.gone, d.shell(getChildren)}},
	}
}

// onSimulatedNodes tells the simulated story on a cluster that it starts and stops.
func (d *demo) onSimulatedNodes(ctx context.Context) (err error) {
	admin, users := "", "operators"
	install := func(ctx context.Context, cluster *simulated.Cluster) (err error) {
		admin, err = operator.Install(ctx, cluster, users)
		return err
	}
	cluster, err := simulated.Start(ctx, simulated.Options{BinaryDir: "bin/kubernetes", Nodes: 3, Prepare: install})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	kubeconfig, err := cluster.KubeconfigFile("operator", users)
	if err != nil {
		return err
	}
	o, err := operator.Start(cluster, kubeconfig, "operator")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Stop()) }()
	if err := errors.Join(o.UntilReady(ctx, time.Minute), os.Setenv("KUBECONFIG", admin)); err != nil {
		return err
	}
	d.logs = "cat " + operator.LogFile(cluster, "operator")
	return d.tell(ctx, d.simulatedStory(), "export KUBECONFIG="+admin+" PATH="+os.Getenv("PATH")+"     # then, all of this works:")
}
