// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/apply"
)

var _ = Describe("What is not ours", func() {
	var (
		applier *apply.Applier
		owner   client.Object
	)
	BeforeEach(func(ctx SpecContext) {
		applier = newApplier()
		owner = newOwner(ctx)
	})

	// untouched applies the desired Service. It expects an error with this message, and that the live Service stays as it is.
	untouched := func(ctx context.Context, message string, observed ...client.Object) {
		GinkgoHelper()
		before := read(ctx, service(owner))
		if len(observed) == 0 {
			_, err := applier.Apply(ctx, applier.Plan(ctx, owner, false, false, []client.Object{service(owner)}, nil))
			Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
		}
		result, err := applier.Apply(ctx, applier.Plan(ctx, owner, false, false, []client.Object{service(owner)}, observed))
		Expect(err).To(MatchError(message))
		Expect(result.Objects).To(BeEmpty())
		Expect(read(ctx, service(owner))).To(Equal(before))
	}
	create := func(ctx context.Context, controllers ...metav1.OwnerReference) *corev1.Service {
		GinkgoHelper()
		theirs := service(owner)
		theirs.Spec.Ports[0].Port, theirs.OwnerReferences = 80, controllers
		Expect(direct.Create(ctx, theirs)).To(Succeed())
		return theirs
	}
	controller := func(apiVersion, name string, uid types.UID) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: apiVersion, Kind: "ConfigMap", Name: name, UID: uid, Controller: ptr.To(true)}
	}

	It("is a conflict, whether the cache sees it or not", func(ctx SpecContext) {
		for message, controllers := range map[string]func() []metav1.OwnerReference{
			" exists already and belongs to nobody: delete or rename one of the two": func() []metav1.OwnerReference { return nil },
			" exists already and belongs to ConfigMap stranger: delete or rename one of the two": func() []metav1.OwnerReference {
				return []metav1.OwnerReference{controller("v1", "stranger", "stranger")}
			},
			" exists already and belongs to ConfigMap OWNER: delete or rename one of the two": func() []metav1.OwnerReference {
				return []metav1.OwnerReference{controller("another.example.com/v1", owner.GetName(), "another")}
			},
			// It belonged to an earlier owner of the same name.
			" is being deleted and must be gone first": func() []metav1.OwnerReference {
				return []metav1.OwnerReference{controller("v1", owner.GetName(), "earlier")}
			},
		} {
			owner = newOwner(ctx)
			theirs := create(ctx, controllers()...)
			message = "Service " + owner.GetName() + strings.ReplaceAll(message, "OWNER", owner.GetName())
			untouched(ctx, message)
			untouched(ctx, message, theirs)
		}
	})

	It("does not include an object of ours that has lost its owner, unless its labels say that it was somebody else's", func(ctx SpecContext) {
		_, err := applier.Apply(ctx, applier.Plan(ctx, owner, false, false, []client.Object{service(owner)}, nil))
		Expect(err).NotTo(HaveOccurred())
		live := foreign(ctx, service(owner), func(s *corev1.Service) { s.OwnerReferences, s.Labels["app"] = nil, "another" })
		untouched(ctx, "Service "+owner.GetName()+" exists already and belongs to nobody: delete or rename one of the two", live)

		live = foreign(ctx, service(owner), func(s *corev1.Service) { s.Labels["app"] = owner.GetName() })
		_, err = applier.Apply(ctx, applier.Plan(ctx, owner, false, false, []client.Object{service(owner)}, []client.Object{live}))
		Expect(err).NotTo(HaveOccurred())
		Expect(metav1.IsControlledBy(read(ctx, service(owner)), owner)).To(BeTrue())
	})

	It("does not include an object of ours that the cache misses, as somebody has removed its label", func(ctx SpecContext) {
		_, err := applier.Apply(ctx, applier.Plan(ctx, owner, false, false, []client.Object{service(owner)}, nil))
		Expect(err).NotTo(HaveOccurred())
		before := foreign(ctx, service(owner), func(s *corev1.Service) { s.Labels = nil })

		By("observing it, since what is desired may depend on it")
		plan := applier.Plan(ctx, owner, false, false, []client.Object{service(owner)}, nil)
		_, err = applier.Apply(ctx, plan)
		Expect(err).To(MatchError(apply.ErrChanged))
		Expect(read(ctx, service(owner))).To(Equal(before))

		By("putting the label back then")
		_, err = applier.Apply(ctx, applier.Plan(ctx, owner, false, false, []client.Object{service(owner)}, plan.Unobserved))
		Expect(err).NotTo(HaveOccurred())
		Expect(read(ctx, service(owner)).Labels).To(Equal(labelsOf(owner)))
	})

	It("is not created or changed by an apply to an object that was deleted since it was observed", func(ctx SpecContext) {
		result, err := applier.Apply(ctx, applier.Plan(ctx, owner, false, false, []client.Object{service(owner)}, nil))
		Expect(err).NotTo(HaveOccurred())
		Expect(direct.Delete(ctx, service(owner))).To(Succeed())
		changed := service(owner)
		changed.Labels["more"] = "yes"

		_, err = applier.Apply(ctx, applier.Plan(ctx, owner, false, false, []client.Object{changed}, result.Objects))
		Expect(err).To(HaveOccurred())
		Expect(apierrors.IsNotFound(direct.Get(ctx, client.ObjectKeyFromObject(owner), service(owner)))).To(BeTrue())

		By("not changing another one that has taken its name")
		create(ctx)
		before := read(ctx, service(owner))
		_, err = applier.Apply(ctx, applier.Plan(ctx, owner, false, false, []client.Object{changed}, result.Objects))
		Expect(err).To(HaveOccurred())
		Expect(read(ctx, service(owner))).To(Equal(before))
	})
})
