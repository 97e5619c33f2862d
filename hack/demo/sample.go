// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

const (
	instanceLabel = "app.kubernetes.io/instance"
	ownedSelector = " -l " + instanceLabel + "=" + sampleName
)

// Commands that show the sample, which is the Memcached of the story, and its child objects.
const (
	getMemcacheds = "kubectl get memc"
	getNodes      = "kubectl get " + sampleCommand + " -o jsonpath='{.status.nodes}'"
	getChildren   = "kubectl get deployment,service,poddisruptionbudget,pods" + ownedSelector
	getService    = "kubectl get service" + ownedSelector
	getImages     = "kubectl get pods" + ownedSelector + " -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[0].image"
)

var (
	sampleKey = client.ObjectKey{Namespace: namespace, Name: sampleName}
	owned     = []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{instanceLabel: sampleName}}
)

// ownedKind is a kind of object that belongs to the sample.
type ownedKind struct {
	plural string
	list   client.ObjectList
}

func ownedKinds() []ownedKind {
	return []ownedKind{
		{"Deployments", &appsv1.DeploymentList{}},
		{"ReplicaSets", &appsv1.ReplicaSetList{}},
		{"Services", &corev1.ServiceList{}},
		{"PodDisruptionBudgets", &policyv1.PodDisruptionBudgetList{}},
		{"Pods", &corev1.PodList{}},
	}
}

func (d *demo) pods(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := d.k8s.List(ctx, &pods, owned...)
	return pods.Items, err
}

// leftovers returns a message about remaining objects of the sample, or "" if none remains.
func (d *demo) leftovers(ctx context.Context) (string, error) {
	var left []string
	count := func(plural string, list client.ObjectList, options ...client.ListOption) error {
		err := d.k8s.List(ctx, list, options...)
		if n := meta.LenList(list); n > 0 {
			left = append(left, fmt.Sprintf("%d %s remain", n, plural))
		}
		return err
	}
	err := count("Memcacheds", &cachev1alpha1.MemcachedList{}, client.InNamespace(namespace)) // the sample has no label to select it by
	for _, kind := range ownedKinds() {
		err = errors.Join(err, count(kind.plural, kind.list, owned...))
	}
	return strings.Join(left, ", "), err
}
