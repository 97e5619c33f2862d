// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/apply"
)

var _ = Describe("A correction", func() {
	var (
		applier *apply.Applier
		owner   client.Object
	)
	// correct changes the Deployment as another field manager, and then applies the desired Deployment.
	correct := func(ctx SpecContext, change func(*appsv1.Deployment)) (apply.Correction, error) {
		GinkgoHelper()
		live := foreign(ctx, deployment(owner), change)
		requests.Reset()
		result, err := applier.Apply(ctx, applier.Plan(ctx, owner, false, []client.Object{deployment(owner)}, []client.Object{live}))
		Expect(requests.Gets()).To(Equal([]string{"get deployments"}), "the managed fields are read once")
		Expect(result.Corrected).To(HaveLen(1))
		return result.Corrected[0], err
	}

	BeforeEach(func(ctx SpecContext) {
		applier, owner = newApplier(), newOwner(ctx)
		_, err := applier.Apply(ctx, applier.Plan(ctx, owner, false, []client.Object{deployment(owner)}, nil))
		Expect(err).NotTo(HaveOccurred())
	})

	It("names the fields and who has changed them", func(ctx SpecContext) {
		correction, err := correct(ctx, func(d *appsv1.Deployment) {
			d.Spec.Replicas = ptr.To(int32(7))
			d.Spec.Template.Spec.Containers[0].Image = "other:1"
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(correction.Kind + " " + correction.Name).To(Equal("Deployment " + owner.GetName()))
		Expect(correction.Fields).To(ConsistOf("spec.replicas", `spec.template.spec.containers[name="main"].image`))
		Expect(correction.Managers).To(Equal([]string{"somebody-else"}))
	})

	It("names what was added below owned fields", func(ctx SpecContext) {
		correction, err := correct(ctx, func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(correction.Fields).To(Equal([]string{`spec.template.spec.containers[name="main"].securityContext`}))
		Expect(correction.Managers).To(Equal([]string{"somebody-else"}))
	})

	It("names nobody for a field that was removed", func(ctx SpecContext) {
		correction, err := correct(ctx, func(d *appsv1.Deployment) { delete(d.Annotations, "wanted") })
		Expect(err).NotTo(HaveOccurred())
		Expect(correction.Fields).To(Equal([]string{"metadata.annotations.wanted"}))
		Expect(correction.Managers).To(BeEmpty())
	})

	It("is the last for a while if it is the third of an object within two minutes", func(ctx SpecContext) {
		scale := func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(int32(7)) }
		for range 2 {
			correction, err := correct(ctx, scale)
			Expect(err).NotTo(HaveOccurred())
			Expect(correction.Contested).To(BeFalse())
		}
		correction, err := correct(ctx, scale)
		var contested *apply.ObstacleError
		Expect(errors.As(err, &contested)).To(BeTrue(), "%v", err)
		Expect(contested).To(And(HaveField("Why", apply.Contested), HaveField("By", "somebody-else"), HaveField("Field", "spec.replicas")))
		Expect(correction.Contested).To(BeTrue())

		By("not waiting for a new size that is desired")
		live, larger := foreign(ctx, deployment(owner), scale), deployment(owner)
		larger.Spec.Replicas = ptr.To(int32(5))
		_, err = applier.Apply(ctx, applier.Plan(ctx, owner, false, []client.Object{larger}, []client.Object{live}))
		Expect(errors.As(err, &contested)).To(BeTrue(), "%v", err)
		Expect(*read(ctx, deployment(owner)).Spec.Replicas).To(BeEquivalentTo(5))
	})

	It("is not made of a size that the operator has written without the rest", func(ctx SpecContext) {
		larger := deployment(owner)
		larger.Spec.Replicas = ptr.To(int32(5))
		for name, refused := range map[string]bool{"in advance": false, "by the API server": true} {
			By("the rest is refused " + name)
			live, sizeOnly := read(ctx, deployment(owner)), []client.Object{larger}
			if refused {
				larger.Spec.Template.Spec.Containers[0].Image = ""
				sizeOnly = nil
			}
			_, err := applier.Apply(ctx, applier.Plan(ctx, owner, false, []client.Object{larger}, []client.Object{live}, sizeOnly...))
			Expect(err != nil).To(Equal(refused))
			Expect(*read(ctx, deployment(owner)).Spec.Replicas).To(BeEquivalentTo(5))

			result, err := applier.Apply(ctx, applier.Plan(ctx, owner, false, []client.Object{deployment(owner)}, []client.Object{read(ctx, deployment(owner))}))
			Expect(err).NotTo(HaveOccurred())
			Expect(result.Corrected).To(BeEmpty())
		}
	})
})
