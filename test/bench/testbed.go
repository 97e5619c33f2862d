// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"errors"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/apiclient"
	"github.com/example/memcached-operator/test/crd"
	"github.com/example/memcached-operator/test/operator"
	"github.com/example/memcached-operator/test/simulated"
)

// Paths relative to the root of the repository, where the benchmark runs.
const (
	controlPlaneDir = "bin/kubernetes"
	leaseRoleFile   = "config/rbac/leader_election_role.yaml"
	reviewRoleFile  = "config/components/metrics-auth/metrics_auth_role.yaml"
	readerRoleFile  = "config/components/metrics-auth/metrics_reader_role.yaml"
)

const (
	// measured is a group of users. All requests of these users are in the audit log.
	measured = "measured"
	// serviceAccounts is a group of the measured users. With it, API priority and fairness treats their requests like those of an
	// operator in a pod.
	serviceAccounts = "system:serviceaccounts"
	scraper         = "scraper"
	rawUser         = "raw-writer"
)

const nodes = 20

// childKinds are the kinds of objects that the operator creates for a Memcached with a Deployment. statefulSetKinds are the kinds for a
// Memcached with a StatefulSet.
var childKinds, statefulSetKinds = kindsOf(memcachedNumber(0)), kindsOf(memcachedNumber(0, statefulSetNodes))

func kindsOf(mc *cachev1alpha1.Memcached) []schema.GroupVersionKind {
	wanted, err := decide(mc, "memcached")
	if err != nil {
		panic(err)
	}
	kinds := make([]schema.GroupVersionKind, len(wanted.Objects))
	for i, child := range wanted.Objects {
		kinds[i] = child.GetObjectKind().GroupVersionKind()
	}
	return kinds
}

//go:embed audit-policy.yaml
var auditPolicy []byte

// testbed is a cluster with everything that the operator needs, but without the operator.
type testbed struct {
	cluster *simulated.Cluster
	k8s     client.WithWatch
	log     *auditLog
	// operators are all operators that were started, including those that have ended.
	operators []*replica
	// exited receives the error of an operator that has exited unexpectedly.
	exited chan error
}

// newTestbed starts a cluster, either with controllers, a scheduler and cluster nodes, or with only an API server.
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

func (t *testbed) stop() error {
	var failures []error
	for _, o := range t.operators {
		failures = append(failures, o.stop())
	}
	return errors.Join(append(failures, t.cluster.Stop())...)
}

// prepare creates the CustomResourceDefinitions, the operator's namespace, and the roles of the operator and of the scraper. It creates no
// admission policies. It runs as soon as the API server is ready.
func (t *testbed) prepare(ctx context.Context, cluster *simulated.Cluster) error {
	var err error
	if t.k8s, err = apiclient.New(cluster.Config); err != nil {
		return err
	}
	err = errors.Join(operator.InstallCRD(ctx, t.k8s, crd.File), operator.InstallCRD(ctx, t.k8s, crd.ProxyFile))
	if err != nil {
		return err
	}
	group := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: measured}
	return errors.Join(
		t.k8s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operator.Namespace}}),
		t.k8s.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: scraper}}),
		operator.Permit(ctx, t.k8s, operator.RoleFile, group),
		operator.Permit(ctx, t.k8s, reviewRoleFile, group),
		operator.Permit(ctx, t.k8s, readerRoleFile,
			rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: operator.Namespace, Name: scraper}),
		operator.PermitIn(ctx, t.k8s, operator.Namespace, leaseRoleFile, group),
	)
}

// clientConfig returns the configuration of a client whose requests are all in the audit log.
func (t *testbed) clientConfig(user string) (*rest.Config, error) {
	file, err := t.cluster.KubeconfigFile(user, measured, serviceAccounts)
	if err != nil {
		return nil, err
	}
	return clientcmd.BuildConfigFromFlags("", file)
}
