// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/await"
	"github.com/example/memcached-operator/test/process"
	"github.com/example/memcached-operator/test/simulated"
)

const (
	// operatorUser has only the permissions of config/rbac/role.yaml.
	operatorUser = "memcached-operator"
	defaultImage = "docker.io/library/memcached:1.6.45"
	// operatorGrace is how long the operator may take to end, as in config/manager.
	operatorGrace = 10 * time.Second
	readyPoll     = 100 * time.Millisecond
)

// simulatedStage is a control plane with simulated nodes, and the operator as a process of this machine.
type simulatedStage struct {
	cluster  *simulated.Cluster
	operator *process.Process
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
	s.cluster, err = simulated.Start(ctx, simulated.Options{BinaryDir: controlPlaneDir, Nodes: 3, Prepare: d.installCRD})
	if err != nil {
		return err
	}
	d.out.outcome("kube-controller-manager, kube-scheduler and kwok run.")
	return d.show(ctx, "kubectl get nodes", resource{path: "/api/v1/nodes"})
}

// installCRD is the first request to the new API server.
func (d *demo) installCRD(ctx context.Context, config *rest.Config) error {
	if err := d.connect(config); err != nil {
		return err
	}
	d.out.outcome("etcd and kube-apiserver run.")
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := d.apply(ctx, crdFile, crd, "customresourcedefinition.apiextensions.k8s.io"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, stepDeadline, errTooLate)
	defer cancel()
	established := func(ctx context.Context) (string, error) {
		if err := d.k8s.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
			return "", err
		}
		if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			return "the CRD is not established", nil
		}
		return "", nil
	}
	return await.Until(ctx, d.k8s, established, []client.ObjectList{&apiextensionsv1.CustomResourceDefinitionList{}})
}

func (s *simulatedStage) tellOperator(ctx context.Context, d *demo) error {
	d.out.command(operatorBinary + " --leader-elect=false &")
	if err := s.startOperator(ctx, d); err != nil {
		return err
	}
	d.out.outcome("The operator is ready. It may do what %s permits and nothing else.", roleFile)
	return nil
}

// startOperator runs the operator as a process of this machine and waits until it is ready.
func (s *simulatedStage) startOperator(ctx context.Context, d *demo) error {
	if err := permitOperator(ctx, d); err != nil {
		return err
	}
	kubeconfig, err := s.cluster.KubeconfigFile(operatorUser)
	if err != nil {
		return err
	}
	port, err := simulated.FreePort()
	if err != nil {
		return err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	binary, err := filepath.Abs(operatorBinary)
	if err != nil {
		return err
	}
	s.operator, err = process.Start(process.Spec{
		Name: "the operator",
		Path: binary,
		Args: []string{"--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=" + address},
		// It must not inherit a WATCH_NAMESPACE from the terminal.
		Env: []string{
			"HOME=" + s.cluster.Dir(), "PATH=" + os.Getenv("PATH"),
			"KUBECONFIG=" + kubeconfig, "RELATED_IMAGE_MEMCACHED=" + defaultImage,
		},
		Dir:     s.cluster.Dir(),
		LogFile: s.logFile(),
	})
	if err != nil {
		return err
	}
	return s.operator.UntilServing(ctx, "http://"+address+"/readyz", readyPoll, stepDeadline)
}

func (s *simulatedStage) logFile() string { return filepath.Join(s.cluster.Dir(), "operator.log") }

// permitOperator binds the operator's user to its generated role.
func permitOperator(ctx context.Context, d *demo) error {
	role := &rbacv1.ClusterRole{}
	if err := d.create(ctx, roleFile, role); err != nil {
		return err
	}
	return d.k8s.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: operatorUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operatorUser}},
	})
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

func (s *simulatedStage) operatorLog(context.Context) string {
	if s.operator == nil {
		return ""
	}
	return s.operator.Tail(reportedLines)
}

// stay leaves the cluster to the user until Ctrl-C.
func (s *simulatedStage) stay(ctx context.Context, d *demo) error {
	kubeconfig, err := s.cluster.KubeconfigFile("admin", "system:masters")
	if err != nil {
		return err
	}
	d.out.title(whatNext)
	d.out.block("export KUBECONFIG=" + kubeconfig + suggestions)
	d.out.write("",
		"make install, make deploy and make run work on this cluster as well. No container runs on its nodes: pods are",
		"only said to be Ready, those of make deploy too. To let make run take over, end the operator of the demo first:",
		indent+fmt.Sprintf("kill %d", s.operator.Pid()),
		"Its log is "+s.logFile())
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
		failures = append(failures, s.operator.Stop(operatorGrace))
	}
	if s.cluster != nil {
		failures = append(failures, s.cluster.Stop())
	}
	return errors.Join(failures...)
}
