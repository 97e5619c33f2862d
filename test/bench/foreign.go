// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	foreignNamespace = "others"
	// foreignGrowth limits, in MiB, how much the operator's memory grows with 20,000 pods and 20,000 Deployments of others.
	foreignGrowth = 2
	// starts is how often the operator is started to measure its memory. The result is the median, because the memory varies from start
	// to start.
	starts = 5
)

// foreign is the part of M7 that measures how much the operator's memory grows with n pods and n Deployments of others. The cluster has
// no controllers that would change these objects.
func (b *bench) foreign(ctx context.Context, t *testbed, n int) {
	without := t.residentAfterStart(ctx)
	check(t.k8s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: foreignNamespace}}))
	check(t.k8s.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: foreignNamespace, Name: "default"}}))
	check(inParallel(n, func(i int) error {
		pod := &corev1.Pod{ObjectMeta: foreignMetadata(i), Spec: foreignPodSpec()}
		return errors.Join(t.k8s.Create(ctx, pod), t.k8s.Create(ctx, foreignDeployment(i)))
	}))
	with := t.residentAfterStart(ctx)
	b.report.addDetail(footprint, "memory of an idle operator with little garbage (GOGC=10)", "MiB", without)
	b.report.hold(footprint, fmt.Sprintf("memory added by %d pods and %d Deployments of others", n, n), "MiB", with-without,
		threshold{foreignGrowth, false})
}

// residentAfterStart returns the memory of an operator that has just started, in MiB. With GOGC=10, little of the memory is garbage.
// The result is the median of several starts.
func (t *testbed) residentAfterStart(ctx context.Context) float64 {
	var samples []float64
	for range starts {
		o := t.startOperator(ctx, "GOGC=10")
		check(pause(ctx, quietPeriod))
		samples = append(samples, must(usageOf(o.Pid())).resident)
		check(o.stop())
	}
	return median(samples)
}

func foreignDeployment(i int) *appsv1.Deployment {
	metadata := foreignMetadata(i)
	return &appsv1.Deployment{ObjectMeta: metadata, Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](0),
		Selector: &metav1.LabelSelector{MatchLabels: metadata.Labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: metadata.Labels}, Spec: foreignPodSpec()},
	}}
}

func foreignMetadata(i int) metav1.ObjectMeta {
	name := fmt.Sprintf("other-%05d", i)
	return metav1.ObjectMeta{Namespace: foreignNamespace, Name: name, Labels: map[string]string{
		"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": name, "app.kubernetes.io/managed-by": "Helm",
	}}
}

func foreignPodSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.example.com/web:1"}}}
}
