// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/controllers"
	agentprotocol "github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// inEvents are wrong changes of the Deployment of a Memcached. The field times says how often the test makes a change. An event must
// then report the change.
var inEvents = []struct {
	name  string
	edit  func(*appsv1.DeploymentSpec)
	times int
	says  string
}{
	{
		"another size", func(spec *appsv1.DeploymentSpec) { spec.Replicas = ptr.To(int32(5)) }, 1,
		"Deployment edited was changed by kubectl-edit (spec.replicas): restored",
	},
	{
		"another image", func(spec *appsv1.DeploymentSpec) { spec.Template.Spec.Containers[0].Image = "memcached:1.5" }, 1,
		`(spec.template.spec.containers[name="memcached"].image): restored; nodes that have started with the change lost their keys`,
	},
	{
		"a variable", func(spec *appsv1.DeploymentSpec) {
			spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "FOO", Value: "bar"}}
		}, 1,
		`(spec.template.spec.containers[name="memcached"].env): restored; nodes that have started with the change lost their keys`,
	},
	{
		"a size again and again, as an autoscaler for the Deployment",
		func(spec *appsv1.DeploymentSpec) { spec.Replicas = ptr.To(int32(4)) }, 3,
		"spec.replicas of Deployment edited is changed again and again by kubectl-edit: aim what scales it at the Memcached",
	},
}

// inReports are mistakes that the agent of a serving node reports. The name of each Memcached is the reason (says[0]) in lower case.
var inReports = map[string]mistake{
	"a key that does not fit any more": {
		spec:   `{size: 1, workload: StatefulSet, tls: {secretName: certificate}}`,
		report: "tls.key does not fit the first certificate in tls.crt: store the key",
		says:   []string{"InvalidCertificate", "of the Secret certificate", "tls.key", "store the key"},
	},
	"a certificate for another name": {
		spec:   `{size: 1, workload: StatefulSet, tls: {secretName: certificate}}`,
		report: "issue the certificate in tls.crt for the names that clients check",
		says:   []string{"CertificateNames", "of the Secret certificate", "tls.crt"},
	},
	"too many clients": {
		spec:   `{size: 1, workload: StatefulSet, monitoring: {enabled: true}}`,
		report: "raise spec.config.maxConnections",
		says:   []string{"ConnectionLimit", "raise spec.config.maxConnections"},
	},
}

func serving() *corev1.PodStatus {
	return &corev1.PodStatus{
		PodIP: "192.0.2.1", PodIPs: []corev1.PodIP{{IP: "192.0.2.1"}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
}

// reporters stands in for the agents of the nodes in inReports. Requests to other agents, or to launchers, fail.
type reporters struct{ controllers.Nodes }

func (reporters) Agent(_ context.Context, pod *corev1.Pod, _ []string) (agentprotocol.Status, error) {
	for _, m := range inReports {
		if reason := m.says[0]; pod.Name == strings.ToLower(reason)+"-0" {
			return agentprotocol.Status{Problems: []agentprotocol.Problem{{Reason: reason, Message: m.report}}}, nil
		}
	}
	return agentprotocol.Status{}, errors.New("connection refused")
}

func (reporters) Launcher(context.Context, *corev1.Pod) (protocol.Status, error) {
	return protocol.Status{}, errors.New("connection refused")
}

// expectEvents makes the mistakes in inEvents, and waits for an event about each. It then deletes two children, and waits for an event
// about each deletion.
func (i *installation) expectEvents(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(i.admin.Create(t.Context(), memcachedOf(t, "edited", "{size: 1}"))).To(Succeed())
	deployment := &appsv1.Deployment{ObjectMeta: named("edited")}
	read := func() error { return i.admin.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment) }
	g.Eventually(read, timeout).Should(Succeed())
	intact := deployment.Spec.DeepCopy()
	for _, m := range inEvents {
		t.Run(m.name, func(t *testing.T) {
			g := NewWithT(t)
			for range m.times {
				g.Eventually(func(g Gomega) {
					g.Expect(read()).To(Succeed())
					g.Expect(deployment.Spec).To(BeComparableTo(*intact), "the last change is not restored")
					m.edit(&deployment.Spec)
					g.Expect(i.admin.Update(t.Context(), deployment, client.FieldOwner("kubectl-edit"))).To(Succeed())
				}, timeout).Should(Succeed())
			}
			g.Eventually(func() []string { return i.notes(t, "edited") }, timeout).Should(ContainElement(ContainSubstring(m.says)))
		})
	}
	for _, child := range []client.Object{&corev1.Service{ObjectMeta: named("edited")}, deployment} {
		g.Expect(i.admin.Delete(t.Context(), child)).To(Succeed())
	}
	g.Eventually(func() []string { return i.notes(t, "edited") }, timeout).Should(ContainElements(
		"Service edited was deleted: created again", "Deployment edited was deleted: created again"))
}

func (i *installation) notes(t *testing.T, name string) []string {
	t.Helper()
	var list eventsv1.EventList
	NewWithT(t).Expect(i.admin.List(t.Context(), &list, client.InNamespace(shop))).To(Succeed())
	var notes []string
	for _, event := range list.Items {
		if event.Regarding.Kind == "Memcached" && event.Regarding.Name == name {
			notes = append(notes, event.Note)
		}
	}
	return notes
}
