// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/testenv"
)

// escalationsSince maps the name of an escalation to the first version of Kubernetes that has the escalation's field by default. Older
// API servers drop the field, so there is nothing to refuse.
var escalationsSince = map[string]testenv.Minor{
	"device of another":          34,
	"users of the node":          33,
	"the name of another host":   35,
	"resources of the whole pod": 34,
}

// stored returns the pod template that the API server would store after a change.
func (i *installation) stored(t *testing.T, change func(*appsv1.Deployment)) corev1.PodTemplateSpec {
	t.Helper()
	g := NewWithT(t)
	before := &appsv1.Deployment{ObjectMeta: named(existing)}
	g.Expect(i.admin.Get(t.Context(), client.ObjectKeyFromObject(before), before)).To(Succeed())
	after := before.DeepCopy()
	change(after)
	patch, err := client.MergeFrom(before).Data(after)
	g.Expect(err).NotTo(HaveOccurred())
	answer := &appsv1.Deployment{ObjectMeta: named(existing)}
	g.Expect(i.operator.Patch(t.Context(), answer, client.RawPatch(types.MergePatchType, patch), client.DryRunAll)).To(Succeed())
	return answer.Spec.Template
}
