// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/example/memcached-operator/test/crd"
	"github.com/example/memcached-operator/test/operator"
	"github.com/example/memcached-operator/test/simulated"
)

// operatorUser is the Kubernetes user as which the operator runs. It has only the permissions of config/rbac/role.yaml.
const operatorUser = "memcached-operator"

// simulatedStage is a control plane with simulated nodes. The operator runs beside it, as a process.
type simulatedStage struct {
	cluster  *simulated.Cluster
	operator *operator.Operator
	// kubeconfig is the path of an administrator's kubeconfig.
	kubeconfig string
}

func (*simulatedStage) name() string     { return "a simulated cluster" }
func (*simulatedStage) servesData() bool { return false }

func (s *simulatedStage) opening() []chapter {
	return []chapter{
		{"A Kubernetes cluster starts, with the CRD and three simulated nodes", s.startCluster},
		{"The operator starts", s.tellOperator},
	}
}

func (s *simulatedStage) startCluster(ctx context.Context, d *demo) (err error) {
	s.cluster, err = simulated.Start(ctx, simulated.Options{
		BinaryDir: controlPlaneDir, Nodes: 3,
		Prepare: func(ctx context.Context, cluster *simulated.Cluster) error { return s.installCRD(ctx, d, cluster) },
	})
	if err != nil {
		return err
	}
	d.out.outcome("kube-controller-manager, kube-scheduler and kwok run.")
	return d.run(ctx, "kubectl get nodes")
}

// installCRD installs the CRD as soon as the API server runs.
func (s *simulatedStage) installCRD(ctx context.Context, d *demo, cluster *simulated.Cluster) error {
	if err := d.connect(cluster.Config); err != nil {
		return err
	}
	d.out.outcome("etcd and kube-apiserver run.")
	commands, err := filepath.Abs(controlPlaneDir)
	if err != nil {
		return err
	}
	if s.kubeconfig, err = cluster.KubeconfigFile("admin", "system:masters"); err != nil {
		return err
	}
	d.env = []string{"KUBECONFIG=" + s.kubeconfig, "KUBECACHEDIR=" + cluster.Dir(), "PATH=" + commands + ":" + os.Getenv("PATH")}
	return inOrder(ctx, d.runs("kubectl apply -f "+crd.File), d.runs("kubectl wait --for condition=Established -f "+crd.File))
}

func (s *simulatedStage) tellOperator(ctx context.Context, d *demo) error {
	d.out.command(operator.Binary + " --leader-elect=false &")
	if err := s.startOperator(ctx, d); err != nil {
		return err
	}
	d.out.outcome("The operator is ready. It may do what %s permits and nothing else.", operator.RoleFile)
	return nil
}

// startOperator starts the operator as a process, with the permissions of its generated role, and waits until it is ready.
func (s *simulatedStage) startOperator(ctx context.Context, d *demo) error {
	user := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operatorUser}
	if err := operator.Permit(ctx, d.k8s, operator.RoleFile, user); err != nil {
		return err
	}
	kubeconfig, err := s.cluster.KubeconfigFile(operatorUser)
	if err != nil {
		return err
	}
	s.operator, err = operator.Start(s.cluster, kubeconfig, operatorUser,
		[]string{"--leader-elect=false", "--metrics-bind-address=0"}, nil)
	if err != nil {
		return err
	}
	return s.operator.UntilReady(ctx, stepDeadline)
}

func (s *simulatedStage) watch(ctx context.Context, fail func(error)) {
	select {
	case <-s.operator.Done():
		fail(s.operator.Err())
	case err := <-s.cluster.Failed():
		fail(err)
	case <-ctx.Done():
	}
}

func (s *simulatedStage) logCommand() string {
	if s.operator == nil {
		return ""
	}
	return fmt.Sprintf("tail -n %d %s", reportedLines, operator.LogFile(s.cluster, operatorUser))
}

func (s *simulatedStage) stay(ctx context.Context, d *demo) error {
	d.out.title(whatNext)
	d.out.block("export KUBECONFIG=" + s.kubeconfig + suggestions)
	d.out.write("",
		"make install, make deploy and make run work on this cluster as well. No container runs on its nodes: pods are",
		"only said to be Ready, those of make deploy too. To let make run take over, end the operator of the demo first:",
		indent+fmt.Sprintf("kill %d", s.operator.Pid()),
		"Its log is "+operator.LogFile(s.cluster, operatorUser))
	return s.waitForInterrupt(ctx, d)
}

func (s *simulatedStage) waitForInterrupt(ctx context.Context, d *demo) error {
	operatorDone := s.operator.Done()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-s.cluster.Failed():
			return err
		case <-operatorDone:
			d.out.title("The operator of the demo has ended. The cluster stays until Ctrl-C.")
			operatorDone = nil
		}
	}
}

func (s *simulatedStage) stop() error {
	var failures []error
	if s.operator != nil {
		failures = append(failures, s.operator.Stop())
	}
	if s.cluster != nil {
		failures = append(failures, s.cluster.Stop())
	}
	return errors.Join(failures...)
}
