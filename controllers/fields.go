// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/example/memcached-operator/internal/apply"
)

var (
	deploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")
	serviceKind    = corev1.SchemeGroupVersion.WithKind("Service")
	budgetKind     = policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")
)

// zeros are the fields that are desired to be unset and that would, if somebody else set them, change what clients see or
// stop the rollout.
var zeros = []apply.Zero{
	{Kind: serviceKind, Path: []string{"spec", "publishNotReadyAddresses"}, Value: false},
	{Kind: deploymentKind, Path: []string{"spec", "paused"}, Value: false},
	{Kind: deploymentKind, Path: []string{"spec", "minReadySeconds"}, Value: int64(0)},
}

// exclusives are the fields to which nobody may add: a mixture of theirs and ours is refused, or gives the pods more rights or
// other resources than the Memcached says.
var exclusives = []apply.Exclusive{
	{Kind: budgetKind, Fields: []string{"spec"}},
	{Kind: deploymentKind, Path: podSpec, Fields: []string{"securityContext", "hostNetwork", "hostPID", "hostIPC"}},
	{Kind: deploymentKind, Path: containers, Fields: []string{
		"resources", "securityContext", "lifecycle", "readinessProbe", "livenessProbe", "startupProbe",
	}},
}

// namedLists are the ports, which an apply finds by number and protocol. The API server gives the ports of pods in the network of
// their host a port of the host, and leaves it there.
var namedLists = []apply.NamedList{
	{Kind: serviceKind, Path: []string{"spec"}, Field: "ports", Key: "port", Others: []string{"protocol"}},
	{
		Kind: deploymentKind, Path: containers, Field: "ports", Key: "containerPort", Others: []string{"protocol"},
		Unset: []string{"hostPort", "hostIP"},
	},
}

// separables are what the pods follow from. If the API server refuses it, the size is written nevertheless.
var separables = []apply.Separable{
	{Kind: deploymentKind, Paths: [][]string{podTemplate, {"metadata", "annotations"}}},
}

var (
	podTemplate = []string{"spec", "template"}
	podSpec     = append(slices.Clone(podTemplate), "spec")
	// containers are those of the pods that bear the names of ours.
	containers = append(slices.Clone(podSpec), "containers")
)
