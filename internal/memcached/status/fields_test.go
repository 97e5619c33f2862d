// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
	"github.com/example/memcached-operator/test/repository"
)

func TestStatusFields(t *testing.T) {
	mc := memcachedtest.Cache(3)
	deployment := makeDeployment(t, mc, specGeneration(2), revision(2), counts(2, 3, 1, 3), progress("ReplicaSetUpdated"))
	service := desired.Service(mc)
	service.OwnerReferences = []metav1.OwnerReference{memcachedtest.Controller("Memcached", mc.Name, mc.UID)}
	pods := []corev1.Pod{makePod("cache-5d4f-b"), makePod("cache-5d4f-c", notReady), makePod("cache-5d4f-a")}

	got := statusOf(mc, memcached.Observed{Children: memcachedtest.Children(deployment, service), Pods: pods}, memcached.Written{}, noon)
	got.Conditions = nil
	want := cachev1alpha1.MemcachedStatus{
		ObservedGeneration: memcachedtest.Generation, Replicas: 3, ReadyReplicas: 2, UpdatedReplicas: 1,
		Selector: "app.kubernetes.io/instance=cache,app.kubernetes.io/managed-by=memcached-operator,app.kubernetes.io/name=memcached",
		Nodes:    []string{"cache-5d4f-a", "cache-5d4f-b", "cache-5d4f-c"}, Image: memcachedtest.DefaultImage, Version: "1.6.45",
		ServiceName: "cache-nodes",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStatusServers covers the first start: a node that could not be created, for example because of a quota, is no server.
func TestStatusServers(t *testing.T) {
	mc := memcachedtest.Cache(3, inStatefulSet)
	for created := range int32(4) {
		observed := memcached.Observed{Children: memcachedtest.Children(makeStatefulSet(t, mc, setCounts(created, 0)))}
		if got := statusOf(mc, observed, memcached.Written{}, noon).Servers; len(got) != int(created) {
			t.Errorf("with %d pods: %v", created, got)
		}
	}
}

func TestStatusConditionsAreInAFixedOrder(t *testing.T) {
	var types []string
	for _, condition := range statusOf(memcachedtest.Cache(3), memcached.Observed{}, memcached.Written{}, noon).Conditions {
		types = append(types, condition.Type)
	}
	if diff := cmp.Diff([]string{"Ready", "Available", "Progressing", "Degraded", "Reconciling"}, types); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStatusNodes has a node of the Memcached, two orphans, and other pods with the same instance label. Only the node and the orphans
// count.
func TestStatusNodes(t *testing.T) {
	mc := memcachedtest.Cache(1)
	withoutController := func(pod *corev1.Pod) { pod.OwnerReferences[0].Controller = nil }
	pods := []corev1.Pod{
		makePod("of-another-deployment-with-our-prefix", ofReplicaSet("cache-two", "5d4f")),
		makePod("of-a-deployment-whose-hash-continues-our-name", ofReplicaSet("cache", "two-5d4f"), func(pod *corev1.Pod) {
			pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "5d4f"
		}),
		makePod("without-hash", func(pod *corev1.Pod) { delete(pod.Labels, appsv1.DefaultDeploymentUniqueLabelKey) }),
		makePod("of-another-replicaset", func(pod *corev1.Pod) { pod.OwnerReferences[0].Name = "mine" }),
		makePod("of-a-statefulset", func(pod *corev1.Pod) { pod.OwnerReferences[0].Kind = "StatefulSet" }),
		makePod("not-controlled", withoutController),
		makePod("of-nobody", withoutOwner),
		makePod("not-selected-by-the-service", withoutOwner, func(pod *corev1.Pod) { delete(pod.Labels, memcached.NameLabel) }),
		makePod("cache-5d4f-00", terminating),
		makePod("cache-5d4f-01"),
	}
	observed := memcached.Observed{Children: memcachedtest.Children(makeDeployment(t, mc, settled)), Pods: pods}
	status := statusOf(mc, observed, memcached.Written{}, noon)
	if diff := cmp.Diff([]string{"cache-5d4f-01", "of-nobody", "not-controlled"}, status.Nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if status.Replicas != 3 || status.ReadyReplicas != 3 {
		t.Errorf("%d replicas, %d ready", status.Replicas, status.ReadyReplicas)
	}
}

// TestStatusOfWhatWasLeft has a Deployment and a Service of the same name that the Memcached does not control. A Deployment that was
// created for the Memcached, and that nobody controls, is its own nevertheless.
func TestStatusOfWhatWasLeft(t *testing.T) {
	mc := memcachedtest.Cache(3)
	for name, owners := range map[string][]metav1.OwnerReference{
		"belongs to nobody":                     nil,
		"belongs to an earlier one of our name": {memcachedtest.Controller("Memcached", mc.Name, "another-uid")},
		"we own it and do not control it":       {{Kind: "Memcached", Name: mc.Name, UID: mc.UID}},
	} {
		for _, created := range []bool{false, true} {
			deployment, service := makeDeployment(t, mc, settled), desired.Service(mc)
			deployment.OwnerReferences, service.OwnerReferences = owners, owners
			if !created {
				deployment.Annotations = nil
			}
			ours := created && (len(owners) == 0 || owners[0].Controller == nil)
			observed := memcached.Observed{Children: memcachedtest.Children(deployment, service), Pods: makePods(3)}
			status := statusOf(mc, observed, memcached.Written{}, noon)
			if (len(status.Nodes) == 3) != ours || (status.Replicas == 3) != ours || (status.Image != "") != ours || status.ServiceName != "" ||
				isTrue(status, cachev1alpha1.ConditionReady) != ours || isTrue(status, cachev1alpha1.ConditionAvailable) != ours {
				t.Errorf("%s, created for us: %v: %+v", name, created, status)
			}
		}
	}
}

func TestStatusTransitionTimes(t *testing.T) {
	mc := memcachedtest.Cache(3)
	observed := memcached.Observed{Children: memcachedtest.Children(makeDeployment(t, mc, settled)), Pods: makePods(3)}
	later := noon.Add(time.Hour + time.Nanosecond)
	times := func(status cachev1alpha1.MemcachedStatus) map[string]time.Time {
		times := map[string]time.Time{}
		for _, condition := range status.Conditions {
			times[condition.Type] = condition.LastTransitionTime.Time
		}
		return times
	}

	mc.Status = statusOf(mc, observed, memcached.Written{}, noon)
	all := map[string]time.Time{"Ready": noon, "Available": noon, "Progressing": noon, "Degraded": noon}
	if diff := cmp.Diff(all, times(mc.Status)); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}

	// A node is gone and a write is refused. Ready and Degraded change their status. Available and Progressing keep theirs.
	observed.Pods = makePods(2)
	problem := &memcached.Problem{Reason: cachev1alpha1.ReasonConflict, Message: "not ours"}
	mc.Status = statusOf(mc, observed, memcached.Written{Problem: problem}, later)
	some := map[string]time.Time{
		"Ready": noon.Add(time.Hour), "Available": noon, "Progressing": noon, "Degraded": noon.Add(time.Hour),
		"Stalled": noon.Add(time.Hour),
	}
	if diff := cmp.Diff(some, times(mc.Status)); diff != "" {
		t.Errorf("later (-want +got):\n%s", diff)
	}
}

func TestVersionOfAnImage(t *testing.T) {
	for image, want := range map[string]string{
		"memcached:1.6.45": "1.6.45",
		"memcached:1.6.44": "1.6.44 is old",
		"memcached:1.5.99": "1.5.99 is old",
		"registry.example.com:5000/team/memcached:1.6.38-trixie": "1.6.38 is old",
		"docker.io/bitnami/memcached:1.6.38-debian-12-r0":        "1.6.38 is old",
		"memcached:v1.6.40":   "1.6.40 is old",
		"memcached:1.6":       "unknown",
		"memcached:latest":    "unknown",
		"memcached:1.6.40.1":  "1.6.40 is old",
		"memcached:99999.0.0": "unknown",
		"memcached":           "unknown",
		"memcached@sha256:" + strings.Repeat("0", 64):             "unknown",
		"memcached:1.6.40@sha256:" + strings.Repeat("0", 64):      "unknown",
		"example.com/team/my-memcached:1.6.40":                    "unknown",
		"example.com/memcached/exporter:0.14.3":                   "unknown",
		"registry.example.com/memcached:1.6.45_build.7-2026-11-2": "1.6.45",
	} {
		got, old := versionOf(image)
		if old {
			got += " is old"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
}

// TestEveryReasonIsInTheTruthTable reads the reasons from the source. Each must be in the table, which may have 30, and in a row of the
// truth table.
func TestEveryReasonIsInTheTruthTable(t *testing.T) {
	want, inTable := map[string]bool{}, map[string]bool{}
	for _, reason := range repository.Reasons(t) {
		want[reason] = true
	}
	for _, row := range table {
		inTable[row.reason] = true
		if row.anchor != "" && !strings.EqualFold(row.anchor, row.reason) {
			t.Errorf("%s leads to #%s", row.reason, row.anchor)
		}
	}
	if diff := cmp.Diff(want, inTable); diff != "" || len(want) > 30 {
		t.Errorf("%d reasons: in the API (-) and in the table (+):\n%s", len(want), diff)
	}
	delete(want, cachev1alpha1.ReasonWaitingForOperator) // the default of the schema, which no operator writes
	delete(want, cachev1alpha1.ReasonFilling)            // see TestStatusOfCopies
	for _, row := range rows(t) {
		for _, condition := range []string{row.ready, row.available, row.progressing, row.degraded, row.attention} {
			_, condition, _ = strings.Cut(condition, " ")
			reason, _, _ := strings.Cut(condition, ":")
			delete(want, reason)
		}
	}
	if len(want) > 0 {
		t.Errorf("no row of the truth table has these reasons: %v", want)
	}
}
