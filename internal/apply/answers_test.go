// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/example/memcached-operator/internal/apply"
)

var plans = map[string]func(context.Context, *apply.Applier, client.Object, []client.Object, []client.Object) apply.Plan{
	"all": func(ctx context.Context, a *apply.Applier, owner client.Object, desired, observed []client.Object) apply.Plan {
		return a.Plan(ctx, owner, false, desired, observed)
	},
	"the size": func(ctx context.Context, a *apply.Applier, owner client.Object, desired, observed []client.Object) apply.Plan {
		return a.Plan(ctx, owner, false, desired, observed, desired...)
	},
}

var _ = Describe("A field that somebody changes in each write, as a webhook does", func() {
	It("is written once by a new process, which corrects nothing by that", func(ctx SpecContext) {
		owner := newOwner(ctx)
		wanted := deployment(owner)
		webhook := replacing(`"replicas":3`, `"replicas":4`)
		first := newApplierOf(webhook)
		created, err := first.Apply(ctx, first.Plan(ctx, owner, false, []client.Object{wanted}, nil))
		Expect(err).NotTo(HaveOccurred())
		Expect(first.Plan(ctx, owner, false, []client.Object{wanted}, created.Objects).Pending()).To(BeEmpty(), "the creation was answered so")

		for name, plan := range plans {
			By(name)
			applier := newApplierOf(webhook)
			for step := range 5 {
				live := read(ctx, deployment(owner))
				Expect(live.Spec.Replicas).To(HaveValue(BeEquivalentTo(4)))
				requests.Reset()
				planned := plan(ctx, applier, owner, []client.Object{wanted}, []client.Object{live})
				Expect(planned.Pending()).To(HaveLen(max(1-step, 0)))
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
				_, err := applier.Apply(ctx, applier.Plan(ctx, owner, false, []client.Object{wanted}, observed))
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
