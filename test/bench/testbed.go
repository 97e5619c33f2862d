// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/testenv"
	"github.com/example/memcached-operator/test/simulated"
)

// The benchmark runs in the root of the repository.
const (
	controlPlaneDir = "bin/kubernetes"
	operatorBinary  = "bin/manager"
	crdFile         = "config/crd/bases/cache.example.com_memcacheds.yaml"
	managerFile     = "config/manager/manager.yaml"
	roleFile        = "config/rbac/role.yaml"
	leaseRoleFile   = "config/rbac/leader_election_role.yaml"
	reviewRoleFile  = "config/components/metrics-auth/metrics_auth_role.yaml"
	readerRoleFile  = "config/components/metrics-auth/metrics_reader_role.yaml"
)

const (
	operatorNamespace = "memcached-operator-system"
	// measured is the group of the users all of whose requests are in the audit log.
	measured = "measured"
	// serviceAccounts is the group that makes the API server treat its users like an operator in a pod, by the rules of API
	// priority and fairness. Its permissions do not matter here.
	serviceAccounts = "system:serviceaccounts"
	scraper         = "scraper"
	rawUser         = "raw-writer"
)

const nodes = 20

var (
	memcachedKind = cachev1alpha1.GroupVersion.WithKind("Memcached")
	// childKinds are the kinds of the children of each Memcached.
	childKinds = []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Service"),
		policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
		appsv1.SchemeGroupVersion.WithKind("Deployment"),
	}
)

//go:embed audit-policy.yaml
var auditPolicy []byte

// testbed is a cluster with everything that the operator needs, except for the operator itself.
type testbed struct {
	cluster *simulated.Cluster
	k8s     client.WithWatch
	log     *auditLog
	// operators are all that have been started. Each has its own user.
	operators []*operator
	// exited receives the error of an operator that exits unexpectedly.
	exited chan error
}

// newTestbed starts a cluster: with controllers, a scheduler and nodes, or with an API server only.
func newTestbed(ctx context.Context, apiServerOnly bool) (*testbed, error) {
	t := &testbed{exited: make(chan error, 1)}
	options := simulated.Options{
		BinaryDir: controlPlaneDir, Nodes: nodes, Prepare: t.prepare, APIServerOnly: apiServerOnly, AuditPolicy: auditPolicy,
	}
	if apiServerOnly {
		options.Nodes = 0
	}
	cluster, err := simulated.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	t.cluster, t.log = cluster, &auditLog{path: cluster.AuditLog()}
	return t, nil
}

// stop ends the operators that still run and then the cluster.
func (t *testbed) stop() error {
	var failures []error
	for _, o := range t.operators {
		failures = append(failures, o.stop())
	}
	return errors.Join(append(failures, t.cluster.Stop())...)
}

// prepare installs everything that an installation of the operator has, as soon as the API server is ready.
func (t *testbed) prepare(ctx context.Context, config *rest.Config) error {
	crds := envtest.CRDInstallOptions{Paths: []string{crdFile}, ErrorIfPathMissing: true, MaxTime: time.Minute}
	if _, err := envtest.InstallCRDs(config, crds); err != nil {
		return err
	}
	var err error
	if t.k8s, err = client.NewWithWatch(config, client.Options{Scheme: testenv.Scheme()}); err != nil {
		return err
	}
	group := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: measured}
	return errors.Join(
		t.k8s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}}),
		t.k8s.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: scraper}}),
		t.permit(ctx, roleFile, group),
		t.permit(ctx, reviewRoleFile, group),
		t.permit(ctx, readerRoleFile, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: operatorNamespace, Name: scraper}),
		t.permitLease(ctx, group),
	)
}

// clientConfig returns the configuration of a client all of whose requests are in the audit log.
func (t *testbed) clientConfig(user string) (*rest.Config, error) {
	file, err := t.cluster.KubeconfigFile(user, measured, serviceAccounts)
	if err != nil {
		return nil, err
	}
	return clientcmd.BuildConfigFromFlags("", file)
}

// permit creates a ClusterRole from a file and binds it.
func (t *testbed) permit(ctx context.Context, file string, subject rbacv1.Subject) error {
	role := &rbacv1.ClusterRole{}
	if err := readYAML(file, role); err != nil {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{subject},
	}
	return errors.Join(t.k8s.Create(ctx, role), t.k8s.Create(ctx, binding))
}

func (t *testbed) permitLease(ctx context.Context, subject rbacv1.Subject) error {
	role := &rbacv1.Role{}
	if err := readYAML(leaseRoleFile, role); err != nil {
		return err
	}
	role.Namespace = operatorNamespace
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{subject},
	}
	return errors.Join(t.k8s.Create(ctx, role), t.k8s.Create(ctx, binding))
}

// readYAML reads an object from the last document of a file.
func readYAML(file string, object client.Object) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	documents := bytes.Split(content, []byte("\n---\n"))
	if err := yaml.UnmarshalStrict(documents[len(documents)-1], object); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	return nil
}
