// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/apply/field"
	"github.com/example/memcached-operator/test/testenv"
)

var (
	environment *envtest.Environment
	// direct is the client for the tests and for changes by others.
	direct client.Client
	// ours is the client of the Appliers.
	ours client.WithWatch
	// requests records the requests that the client ours sends.
	requests testenv.Requests
	// now is the clock of the last Applier that newApplierOf returned.
	now *clocktesting.FakePassiveClock
)

func TestApply(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "apply")
}

var _ = BeforeSuite(func() {
	environment = testenv.New()
	config, err := environment.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(environment.Stop()).To(Succeed()) })
	direct, err = client.New(config, client.Options{Scheme: testenv.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	ours, err = client.NewWithWatch(requests.Record(config), client.Options{Scheme: testenv.Scheme()})
	Expect(err).NotTo(HaveOccurred())
})

func newApplier() *apply.Applier { return newApplierOf(ours) }

// newApplierOf returns an Applier with rules like the operator's rules.
func newApplierOf(c client.Client) *apply.Applier {
	now = clocktesting.NewFakePassiveClock(time.Now())
	return &apply.Applier{
		Client: c, Live: ours, Clock: now, FieldOwner: "test", HashAnnotation: "test.example.com/hash",
		Identity: func(owner, _ client.Object) map[string]string { return labelsOf(owner) },
		Rules:    func(kind schema.GroupVersionKind, _ string) field.Rules { return rules[kind] },
	}
}

var rules = map[schema.GroupVersionKind]field.Rules{
	corev1.SchemeGroupVersion.WithKind("Service"): {
		Owned: [][]string{{"spec", "publishNotReadyAddresses"}, {"spec", "ports"}},
	},
	policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"): {Owned: [][]string{{"spec"}}},
	appsv1.SchemeGroupVersion.WithKind("Deployment"): {
		Owned: [][]string{{"spec", "template", "spec"}, {"spec", "paused"}, {"spec", "minReadySeconds"}},
		Size:  []string{"spec", "replicas"},
	},
}

var names int

// newOwner creates an owner with a new name. The kind of the owner does not matter.
func newOwner(ctx context.Context) client.Object {
	names++
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("owner-%d", names), Namespace: "default"}}
	Expect(direct.Create(ctx, owner)).To(Succeed())
	return owner
}

func labelsOf(owner client.Object) map[string]string {
	return map[string]string{"app": owner.GetName()}
}

func deployment(owner client.Object) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Name: owner.GetName(), Namespace: "default", Labels: labelsOf(owner),
			Annotations: map[string]string{"wanted": "yes"},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(3)),
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector: &metav1.LabelSelector{MatchLabels: labelsOf(owner)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labelsOf(owner)},
				Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{},
					Containers: []corev1.Container{{
						Name: "main", Image: "main:1", Args: []string{"-m", "64"}, ImagePullPolicy: corev1.PullIfNotPresent,
						TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
						LivenessProbe: &corev1.Probe{
							ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("main")}},
							PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
						},
						Ports: []corev1.ContainerPort{{Name: "main", ContainerPort: 11211, Protocol: corev1.ProtocolTCP}},
					}},
					RestartPolicy: corev1.RestartPolicyAlways, DNSPolicy: corev1.DNSClusterFirst,
					SchedulerName: corev1.DefaultSchedulerName, TerminationGracePeriodSeconds: ptr.To(int64(30)),
				},
			},
		},
	}
}

func service(owner client.Object) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: owner.GetName(), Namespace: "default", Labels: labelsOf(owner)},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, Selector: labelsOf(owner),
			Ports: []corev1.ServicePort{{Name: "main", Port: 11211, TargetPort: intstr.FromInt32(11211), Protocol: corev1.ProtocolTCP}},
		},
	}
}

func budget(owner client.Object) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{Name: owner.GetName(), Namespace: "default", Labels: labelsOf(owner)},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: ptr.To(intstr.FromInt32(1)),
			Selector:       &metav1.LabelSelector{MatchLabels: labelsOf(owner)},
		},
	}
}

func read[T client.Object](ctx context.Context, object T) T {
	GinkgoHelper()
	Expect(direct.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	return object
}

// foreign changes the live object as another field manager, and returns it.
func foreign[T client.Object](ctx context.Context, object T, change func(T)) T {
	GinkgoHelper()
	live := read(ctx, object)
	change(live)
	Expect(direct.Update(ctx, live, client.FieldOwner("somebody-else"))).To(Succeed())
	return live
}
