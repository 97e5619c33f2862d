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

// unions are the fields of the objects of which Kubernetes allows only one, and of which one is always desired. The hook
// before a stop may be undesired, so it is not among them: what an exchange has written does not go with an apply.
var unions = []apply.Union{
	{Kind: budgetKind, Path: []string{"spec"}, Members: []string{"minAvailable", "maxUnavailable"}},
	{Kind: deploymentKind, Path: container("readinessProbe"), Members: handlers},
	{Kind: deploymentKind, Path: container("livenessProbe"), Members: handlers},
	{Kind: deploymentKind, Path: container("startupProbe"), Members: handlers},
}

// namedLists are the ports, which an apply finds by number and protocol.
var namedLists = []apply.NamedList{
	{Kind: serviceKind, Path: []string{"spec"}, Field: "ports", Key: "port", Others: []string{"protocol"}},
	{Kind: deploymentKind, Path: containers, Field: "ports", Key: "containerPort", Others: []string{"protocol"}},
}

// handlers are those of probes.
var handlers = []string{"exec", "grpc", "httpGet", "tcpSocket"}

// containers are those of the pods.
var containers = []string{"spec", "template", "spec", "containers"}

func container(field string) []string {
	return append(slices.Clone(containers), field)
}
