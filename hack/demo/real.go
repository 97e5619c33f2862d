// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os/exec"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/example/memcached-operator/test/operator"
)

// operatorLogs is the command that shows the log of the operator that make deploy has installed.
const operatorLogs = "kubectl logs --namespace " + operator.Namespace + " deployment/memcached-operator-controller-manager"

// realStage is a cluster whose nodes run containers. hack/demo/demo.sh starts and stops it. make deploy installs the operator.
type realStage struct {
	// image is the image of the operator.
	image string
	// cluster is the name of the cluster, as make cluster-exec needs it.
	cluster string
}

func (*realStage) name() string     { return "a Kubernetes cluster with a real node" }
func (*realStage) servesData() bool { return true }

func (s *realStage) opening() []chapter {
	return []chapter{
		{"A Kubernetes cluster runs", s.connect},
		{"The operator is deployed", s.deploy},
	}
}

func (*realStage) connect(ctx context.Context, d *demo) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	if err := d.connect(config); err != nil {
		return err
	}
	return d.run(ctx, "kubectl get nodes")
}

func (s *realStage) deploy(ctx context.Context, d *demo) error {
	d.out.command("make deploy IMG=" + s.image)
	deploy := exec.CommandContext(ctx, "make", "--no-print-directory", "deploy", "IMG="+s.image)
	deploy.Stdout, deploy.Stderr = d.out, d.out
	if err := deploy.Run(); err != nil {
		return fmt.Errorf("make deploy: %w", err)
	}
	d.out.outcome("The operator is ready: the CRD, its permissions and a pod.")
	return d.run(ctx, "kubectl get pods --namespace "+operator.Namespace)
}

// watch does nothing: if the operator's container ends, the kubelet restarts the container.
func (*realStage) watch(context.Context, func(error)) {}

func (*realStage) logCommand() string { return operatorLogs + fmt.Sprintf(" --tail %d", reportedLines) }

func (s *realStage) stay(ctx context.Context, d *demo) error {
	d.out.title(whatNext)
	d.out.block("make cluster-exec CLUSTER=" + s.cluster + " CMD=bash     # a shell in which all of this works:" + suggestions +
		"\n" + operatorLogs)
	<-ctx.Done()
	return nil
}

// stop does nothing, because the script that has started the cluster also stops it.
func (*realStage) stop() error { return nil }
