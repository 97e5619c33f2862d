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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/await"
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
	// measured is the group of the users whose every request is in the audit log.
	measured = "measured"
	// serviceAccounts is the group that lets the API server treat them as it treats an operator in a pod, by the rules of its
	// priority and fairness. It has no permissions that matter here.
	serviceAccounts = "system:serviceaccounts"
	scraper         = "scraper"
	rawUser         = "raw-writer"
)

// nodes is how many simulated nodes there are.
const nodes = 20

var (
	memcachedKind = cachev1alpha1.GroupVersion.WithKind("Memcached")
	// childKinds are the kinds of the objects that each Memcached has: k of them.
	childKinds = []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Service"),
		policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
		appsv1.SchemeGroupVersion.WithKind("Deployment"),
	}
)

//go:embed audit-policy.yaml
var auditPolicy []byte

// rig is a cluster with everything in it that the operator needs but the operator itself.
type rig struct {
	cluster *simulated.Cluster
	k8s     client.WithWatch
	log     *auditLog
	// operators are all that have been started: each has a user of its own.
	operators []*operator
	// ended tells of an operator that has ended by itself.
	ended chan error
}

// newRig starts a cluster: with controllers, a scheduler and nodes, or with an API server only.
func newRig(ctx context.Context, apiServerOnly bool) (*rig, error) {
	r := &rig{ended: make(chan error, 1)}
	options := simulated.Options{
		BinaryDir: controlPlaneDir, Nodes: nodes, Prepare: r.prepare, APIServerOnly: apiServerOnly, AuditPolicy: auditPolicy,
	}
	if apiServerOnly {
		options.Nodes = 0
	}
	cluster, err := simulated.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	r.cluster, r.log = cluster, &auditLog{path: cluster.AuditLog()}
	return r, nil
}

// stop ends the cluster, and before it the operators that still run.
func (r *rig) stop() error {
	var failures []error
	for _, o := range r.operators {
		failures = append(failures, o.stop())
	}
	return errors.Join(append(failures, r.cluster.Stop())...)
}

// prepare installs what an installation of the operator has, as soon as there is an API server.
func (r *rig) prepare(ctx context.Context, config *rest.Config) error {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(cachev1alpha1.AddToScheme(scheme))
	var err error
	if r.k8s, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if err := r.installCRD(ctx); err != nil {
		return err
	}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: scraper}},
	} {
		if err := r.k8s.Create(ctx, object); err != nil {
			return err
		}
	}
	group := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: measured}
	return errors.Join(
		r.permit(ctx, roleFile, group),
		r.permit(ctx, reviewRoleFile, group),
		r.permit(ctx, readerRoleFile, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: operatorNamespace, Name: scraper}),
		r.permitLease(ctx, group),
	)
}

func (r *rig) installCRD(ctx context.Context) error {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := readYAML(crdFile, crd); err != nil {
		return err
	}
	if err := r.k8s.Create(ctx, crd); err != nil {
		return err
	}
	established := func(ctx context.Context) (string, error) {
		if err := r.k8s.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
			return "", err
		}
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return "", nil
			}
		}
		return "the CRD is not established", nil
	}
	return await.Until(ctx, r.k8s, established, []client.ObjectList{&apiextensionsv1.CustomResourceDefinitionList{}})
}

// permit creates a ClusterRole of a file and binds it.
func (r *rig) permit(ctx context.Context, file string, subject rbacv1.Subject) error {
	role := &rbacv1.ClusterRole{}
	if err := readYAML(file, role); err != nil {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{subject},
	}
	return errors.Join(r.k8s.Create(ctx, role), r.k8s.Create(ctx, binding))
}

func (r *rig) permitLease(ctx context.Context, subject rbacv1.Subject) error {
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
	return errors.Join(r.k8s.Create(ctx, role), r.k8s.Create(ctx, binding))
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
