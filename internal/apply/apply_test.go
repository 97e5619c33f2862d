// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/example/memcached-operator/internal/apply"
)

var _ = Describe("Apply", func() {
	var (
		applier *apply.Applier
		owner   client.Object
	)

	// applied applies the desired objects, and expects exactly these writes, and a read before each change.
	applied := func(ctx context.Context, desired, observed []client.Object, writes ...string) apply.Result {
		GinkgoHelper()
		requests.Reset()
		result, err := applier.Apply(ctx, applier.Plan(ctx, owner, false, false, desired, observed))
		Expect(err).NotTo(HaveOccurred())
		Expect(requests.Writes()).To(ConsistOf(writes))
		changes := slices.DeleteFunc(writes, func(write string) bool { return strings.HasPrefix(write, "delete ") })
		Expect(requests.Gets()).To(HaveLen(len(changes) - len(result.Created)))
		return result
	}
	objects := func(list ...client.Object) []client.Object { return list }

	BeforeEach(func(ctx SpecContext) {
		applier = newApplier()
		owner = newOwner(ctx)
	})

	Describe("an object that is absent", func() {
		It("is created with one request, and then nothing is sent any more", func(ctx SpecContext) {
			desired := objects(deployment(owner), service(owner), budget(owner))
			result := applied(ctx, desired, nil, "patch deployments", "patch services", "patch poddisruptionbudgets")
			Expect(result.Created).To(HaveLen(3))

			By("comparing with what the API server answered")
			again := applied(ctx, desired, result.Objects)
			Expect(again.Written).To(BeFalse())
			Expect(again.Objects).To(HaveLen(3))

			By("comparing with what it stored, in a new process")
			applier = newApplier()
			applied(ctx, desired, objects(
				read(ctx, deployment(owner)), read(ctx, service(owner)), read(ctx, budget(owner))))
		})

		It("is not sent any more when the API server spells it differently", func(ctx SpecContext) {
			wanted := deployment(owner)
			limits := corev1.ResourceList{"cpu": resource.MustParse("0.5"), "memory": resource.MustParse("1024Mi")}
			wanted.Spec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: limits, Requests: limits}
			wanted.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}
			applied(ctx, objects(wanted), nil, "patch deployments")
			applied(ctx, objects(wanted), objects(read(ctx, deployment(owner))))
		})

		It("is created by a patch that carries the resource version 1, which is refused if the object exists", func(ctx SpecContext) {
			// Kubernetes does not document this behavior, but the whole package depends on it.
			create := func() error {
				object := service(owner)
				object.ResourceVersion = "1"
				text, err := json.Marshal(object)
				Expect(err).NotTo(HaveOccurred())
				patch := client.RawPatch(types.ApplyPatchType, text)
				return direct.Patch(ctx, object, patch, client.ForceOwnership, client.FieldOwner("pin"))
			}
			Expect(create()).To(Succeed())
			before := read(ctx, service(owner)).ResourceVersion
			err := create()
			Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
			Expect(read(ctx, service(owner)).ResourceVersion).To(Equal(before))
		})
	})

	Describe("an object that somebody else has changed", func() {
		It("gets back zero values that matter", func(ctx SpecContext) {
			desired := objects(service(owner), deployment(owner))
			result := applied(ctx, desired, nil, "patch services", "patch deployments")
			applied(ctx, desired, result.Objects)
			liveService := foreign(ctx, service(owner), func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true })
			liveDeployment := foreign(ctx, deployment(owner), func(d *appsv1.Deployment) {
				d.Spec.Paused, d.Spec.MinReadySeconds, d.Labels["app"] = true, 300, "other"
			})
			result = applied(ctx, desired, objects(liveService, liveDeployment), "patch services", "patch deployments")
			Expect(read(ctx, service(owner)).Spec.PublishNotReadyAddresses).To(BeFalse())
			Expect(read(ctx, deployment(owner)).Spec.Paused).To(BeFalse())
			Expect(read(ctx, deployment(owner)).Spec.MinReadySeconds).To(BeZero())
			Expect(read(ctx, deployment(owner)).Labels).To(HaveKeyWithValue("app", owner.GetName()))
			applied(ctx, desired, result.Objects)
		})

		It("loses what excludes the desired", func(ctx SpecContext) {
			desired := objects(deployment(owner), budget(owner))
			applied(ctx, desired, nil, "patch deployments", "patch poddisruptionbudgets")
			liveDeployment := foreign(ctx, deployment(owner), func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].LivenessProbe.ProbeHandler = corev1.ProbeHandler{
					Exec: &corev1.ExecAction{Command: []string{"true"}},
				}
			})
			liveBudget := foreign(ctx, budget(owner), func(b *policyv1.PodDisruptionBudget) {
				b.Spec.MaxUnavailable, b.Spec.MinAvailable = nil, ptr.To(intstr.FromInt32(2))
			})
			result := applied(ctx, desired, objects(liveDeployment, liveBudget), "patch deployments", "patch poddisruptionbudgets")
			healed := read(ctx, deployment(owner)).Spec.Template.Spec.Containers[0].LivenessProbe
			Expect(healed.Exec).To(BeNil())
			Expect(healed.TCPSocket).NotTo(BeNil())
			Expect(read(ctx, budget(owner)).Spec.MinAvailable).To(BeNil())
			applied(ctx, desired, result.Objects)
		})

		It("is compared although it holds duplicates, which the API server accepts", func(ctx SpecContext) {
			applied(ctx, objects(deployment(owner)), nil, "patch deployments")
			twice := corev1.EnvVar{Name: "A", Value: "a"}
			live := foreign(ctx, deployment(owner), func(d *appsv1.Deployment) {
				d.Spec.Replicas = ptr.To(int32(9))
				d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{twice, twice}
				d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers,
					corev1.Container{Name: "sidecar", Image: "sidecar:1", Env: []corev1.EnvVar{twice, twice}})
			})
			applied(ctx, objects(deployment(owner)), objects(live), "patch deployments")
			healed := read(ctx, deployment(owner))
			Expect(healed.Spec.Replicas).To(HaveValue(BeEquivalentTo(3)))
			Expect(healed.Spec.Template.Spec).To(Equal(deployment(owner).Spec.Template.Spec))
		})

		It("keeps the metadata that others have added, without a write", func(ctx SpecContext) {
			applied(ctx, objects(deployment(owner), service(owner)), nil, "patch deployments", "patch services")
			live := foreign(ctx, deployment(owner), func(d *appsv1.Deployment) {
				d.Annotations["user"] = "note"
				d.Labels["team"] = "cache"
				d.Spec.Template.Labels["team"] = "cache"
				d.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "now"}
			})
			applied(ctx, objects(deployment(owner)), objects(live))

			By("keeping it also when we have something to write, or to take away")
			wanted := deployment(owner)
			wanted.Spec.Replicas = ptr.To(int32(5))
			applied(ctx, objects(wanted), objects(live), "patch deployments")
			live = foreign(ctx, deployment(owner), func(d *appsv1.Deployment) { d.Spec.Template.Spec.HostNetwork = true })
			applied(ctx, objects(wanted), objects(live), "patch deployments")
			live = read(ctx, deployment(owner))
			Expect(live.Annotations).To(HaveKeyWithValue("user", "note"))
			Expect(live.Labels).To(HaveKeyWithValue("team", "cache"))
			Expect(live.Spec.Template.Labels).To(HaveKeyWithValue("team", "cache"))
			Expect(live.Spec.Template.Annotations).To(HaveKey("kubectl.kubernetes.io/restartedAt"))
			Expect(live.Spec.Template.Spec.HostNetwork).To(BeFalse())
		})

		It("loses what was added to owned fields, with one write", func(ctx SpecContext) {
			desired := objects(deployment(owner), service(owner))
			applied(ctx, desired, nil, "patch deployments", "patch services")
			liveDeployment := foreign(ctx, deployment(owner), func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "a"}}
				d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "sidecar", Image: "sidecar:1"})
			})
			liveService := foreign(ctx, service(owner), func(s *corev1.Service) {
				s.Spec.Ports[0].Port = 80 // an apply would add a second port of this name, which is refused
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "extra", Port: 9150, Protocol: corev1.ProtocolTCP})
			})
			result := applied(ctx, desired, objects(liveDeployment, liveService), "patch deployments", "patch services")
			Expect(read(ctx, deployment(owner)).Spec.Template.Spec).To(Equal(deployment(owner).Spec.Template.Spec))
			Expect(read(ctx, service(owner)).Spec.Ports).To(Equal(service(owner).Spec.Ports))
			applied(ctx, desired, result.Objects)
		})

		It("loses it also when something else is desired at the same time", func(ctx SpecContext) {
			applied(ctx, objects(deployment(owner)), nil, "patch deployments")
			live := foreign(ctx, deployment(owner), func(d *appsv1.Deployment) { d.Spec.Template.Spec.HostPID = true })
			wanted := deployment(owner)
			wanted.Spec.Template.Spec.Containers[0].Args = nil
			applied(ctx, objects(wanted), objects(live), "patch deployments")
			Expect(read(ctx, deployment(owner)).Spec.Template.Spec).To(Equal(wanted.Spec.Template.Spec))

			By("losing later what we have put back, and no longer want")
			wanted.Spec.Template.Spec.NodeSelector = map[string]string{"a": "b"}
			applied(ctx, objects(wanted), objects(read(ctx, deployment(owner))), "patch deployments")
			live = foreign(ctx, deployment(owner), func(d *appsv1.Deployment) { d.Spec.Template.Spec.NodeSelector = nil })
			applied(ctx, objects(wanted), objects(live), "patch deployments")
			wanted.Spec.Template.Spec.NodeSelector = nil
			applied(ctx, objects(wanted), objects(read(ctx, deployment(owner))), "patch deployments")
			Expect(read(ctx, deployment(owner)).Spec.Template.Spec).To(Equal(wanted.Spec.Template.Spec))
		})

		It("loses what we applied once and no longer want", func(ctx SpecContext) {
			result := applied(ctx, objects(deployment(owner)), nil, "patch deployments")
			wanted := deployment(owner)
			wanted.Annotations = nil
			wanted.Spec.Template.Spec.Containers[0].Args = nil
			applied(ctx, objects(wanted), result.Objects, "patch deployments")
			live := read(ctx, deployment(owner))
			Expect(live.Annotations).NotTo(HaveKey("wanted"))
			Expect(live.Spec.Template.Spec.Containers[0].Args).To(BeEmpty())
			Expect(live.ManagedFields).To(HaveEach(HaveField("Manager", "test")), "one field owner, or dropped fields stay for ever")

			By("not what others have applied")
			live = foreign(ctx, deployment(owner), func(d *appsv1.Deployment) { d.Annotations = map[string]string{"wanted": "by others"} })
			wanted.Annotations = map[string]string{"more": "yes"}
			result = applied(ctx, objects(wanted), objects(live), "patch deployments")
			wanted.Annotations = nil
			applied(ctx, objects(wanted), result.Objects, "patch deployments")
			Expect(read(ctx, deployment(owner)).Annotations).To(And(HaveKeyWithValue("wanted", "by others"), Not(HaveKey("more"))))
		})
	})

	Describe("an object that is no longer desired", func() {
		It("is deleted if it is ours, and only then", func(ctx SpecContext) {
			result := applied(ctx, objects(service(owner), budget(owner)), nil, "patch services", "patch poddisruptionbudgets")
			stranger := newOwner(ctx)
			theirs := budget(stranger)
			Expect(direct.Create(ctx, theirs)).To(Succeed())
			applied(ctx, objects(service(owner)), append(result.Objects, theirs), "delete poddisruptionbudgets")
			Expect(apierrors.IsNotFound(direct.Get(ctx, client.ObjectKeyFromObject(owner), budget(owner)))).To(BeTrue())
			read(ctx, budget(stranger))
		})

		It("is not changed if somebody has changed it since it was read", func(ctx SpecContext) {
			result := applied(ctx, objects(deployment(owner)), nil, "patch deployments")
			live := foreign(ctx, deployment(owner), func(d *appsv1.Deployment) { d.Spec.Paused = true })
			larger := deployment(owner)
			larger.Spec.Replicas = ptr.To(int32(5))
			plan := applier.Plan(ctx, owner, false, false, objects(larger), result.Objects)
			_, err := applier.Apply(ctx, plan)
			Expect(err).To(MatchError(apply.ErrChanged))
			Expect(read(ctx, deployment(owner))).To(Equal(live))

			By("not since it was compared either")
			plan = applier.Plan(ctx, owner, false, false, objects(larger), plan.Unobserved)
			live.Status.ObservedGeneration = live.Generation
			Expect(direct.Status().Update(ctx, live)).To(Succeed())
			_, err = applier.Apply(ctx, plan)
			Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
			Expect(read(ctx, deployment(owner))).To(Equal(live))
			applied(ctx, objects(larger), objects(live), "patch deployments")
		})

		It("is not deleted if another one has taken its name since", func(ctx SpecContext) {
			result := applied(ctx, objects(budget(owner)), nil, "patch poddisruptionbudgets")
			Expect(direct.Delete(ctx, budget(owner))).To(Succeed())
			Expect(direct.Create(ctx, budget(owner))).To(Succeed())
			_, err := applier.Apply(ctx, applier.Plan(ctx, owner, false, false, nil, result.Objects))
			Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
			read(ctx, budget(owner))
		})
	})

	It("names what was added below owned fields, and who has added it", func(ctx SpecContext) {
		applied(ctx, objects(deployment(owner)), nil, "patch deployments")
		live := foreign(ctx, deployment(owner), func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
		})
		result := applied(ctx, objects(deployment(owner)), objects(live), "patch deployments")
		Expect(result.Corrected).To(HaveExactElements(apply.Correction{
			Kind: "Deployment", Name: owner.GetName(), Managers: []string{"somebody-else"},
			Fields: []string{`spec.template.spec.containers[name="main"].securityContext`},
		}))
	})

	It("corrects no size that the operator has written without the rest", func(ctx SpecContext) {
		applied(ctx, objects(deployment(owner)), nil, "patch deployments")
		larger := deployment(owner)
		larger.Spec.Replicas = ptr.To(int32(5))
		for name, refused := range map[string]bool{"in advance": false, "by the API server": true} {
			By("the rest is refused " + name)
			live := read(ctx, deployment(owner))
			if refused {
				larger.Spec.Template.Spec.Containers[0].Image = ""
			}
			_, err := applier.Apply(ctx, applier.Plan(ctx, owner, false, !refused, objects(larger), objects(live)))
			Expect(err != nil).To(Equal(refused))
			Expect(*read(ctx, deployment(owner)).Spec.Replicas).To(BeEquivalentTo(5))
			result := applied(ctx, objects(deployment(owner)), objects(read(ctx, deployment(owner))), "patch deployments")
			Expect(result.Corrected).To(BeEmpty())
		}
	})

	It("tries every object and reports every error", func(ctx SpecContext) {
		theirs, bad := service(owner), deployment(owner)
		Expect(direct.Create(ctx, theirs)).To(Succeed())
		bad.Spec.Template.Spec.Containers[0].Name = "Not A Name"
		desired := objects(service(owner), bad, budget(owner))
		result, err := applier.Apply(ctx, applier.Plan(ctx, owner, false, false, desired, objects(theirs)))
		var conflict *apply.ObstacleError
		Expect(errors.As(err, &conflict)).To(BeTrue())
		Expect(conflict.Why).To(Equal(apply.Conflict))
		Expect(apierrors.IsInvalid(err)).To(BeTrue())
		Expect(result.Objects).To(HaveLen(1))
		read(ctx, budget(owner))
	})
})

var _ = Describe("A field that somebody changes in each write, as a webhook does", func() {
	It("is written once by a new process, which corrects nothing by that", func(ctx SpecContext) {
		owner := newOwner(ctx)
		wanted := deployment(owner)
		webhook := replacing(`"replicas":3`, `"replicas":4`)
		first := newApplierOf(webhook)
		created, err := first.Apply(ctx, first.Plan(ctx, owner, false, false, []client.Object{wanted}, nil))
		Expect(err).NotTo(HaveOccurred())
		Expect(first.Plan(ctx, owner, false, false, []client.Object{wanted}, created.Objects).Pending).To(BeEmpty(), "the creation was answered so")

		for _, sizeOnly := range []bool{false, true} {
			By(fmt.Sprintf("writing only the size: %t", sizeOnly))
			applier := newApplierOf(webhook)
			for step := range 5 {
				live := read(ctx, deployment(owner))
				Expect(live.Spec.Replicas).To(HaveValue(BeEquivalentTo(4)))
				requests.Reset()
				planned := applier.Plan(ctx, owner, false, sizeOnly, []client.Object{wanted}, []client.Object{live})
				Expect(planned.Pending).To(HaveLen(max(1-step, 0)))
				result, err := applier.Apply(ctx, planned)
				Expect(err).NotTo(HaveOccurred(), "it is not contested")
				Expect(requests.Writes()).To(HaveLen(max(1-step, 0)))
				Expect(result.Written).To(BeFalse())
				Expect(result.Corrected).To(BeEmpty())
			}
		}
	})
})

var _ = Describe("A container that a webhook adds, each time with another value", func() {
	It("is written about once by a new process, and with each change, and makes no second rollout of one", func(ctx SpecContext) {
		owner, times := newOwner(ctx), 0
		webhook := answeringWith(func(body []byte) []byte {
			times++
			injected := fmt.Sprintf(`"containers":[{"name":"injected","image":"injected:%d"},`, times)
			return bytes.Replace(body, []byte(`"containers":[`), []byte(injected), 1)
		})
		wanted := deployment(owner)
		applier := newApplierOf(webhook)
		generation := int64(0)
		expect := func(generations, writes int) {
			GinkgoHelper()
			for step := range 3 {
				var observed []client.Object
				if generation > 0 {
					observed = []client.Object{read(ctx, deployment(owner))}
				}
				requests.Reset()
				_, err := applier.Apply(ctx, applier.Plan(ctx, owner, false, false, []client.Object{wanted}, observed))
				Expect(err).NotTo(HaveOccurred())
				Expect(requests.Writes()).To(HaveLen(max(writes*(1-step), 0)))
				generation += int64(max(generations*(1-step), 0))
				Expect(read(ctx, deployment(owner)).Generation).To(Equal(generation))
			}
		}
		expect(1, 1)

		By("wanting something else")
		for i := range 3 {
			wanted.Spec.Template.Spec.Containers[0].Args = []string{"-m", strconv.Itoa(i)}
			expect(1, 1)
		}

		By("starting a new process")
		applier = newApplierOf(webhook)
		expect(1, 1)
	})
})

// replacing returns a client that replaces a text in each of its patches, as a webhook could.
func replacing(old, with string) client.Client {
	return answeringWith(func(body []byte) []byte { return bytes.ReplaceAll(body, []byte(old), []byte(with)) })
}

func answeringWith(change func(body []byte) []byte) client.Client {
	return interceptor.NewClient(ours, interceptor.Funcs{Patch: func(
		ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption,
	) error {
		body, err := patch.Data(object)
		if err != nil {
			return err
		}
		return c.Patch(ctx, object, client.RawPatch(patch.Type(), change(body)), opts...)
	}})
}
