// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/docs"
)

var _ = Describe("A user of Helm", Label(onLocalCluster), func() {
	It("takes over the installation, upgrades it, removes it and installs it again, while a cache serves",
		SpecTimeout(5*time.Minute), func(ctx SpecContext) {
			helm := newHelmUser()
			f := newFixture(ctx)
			f.begin(ctx)
			DeferCleanup(func(ctx SpecContext) {
				helm.uninstall(ctx)
				deploy(ctx, operatorImage)
			})

			By("being told that the operator is installed already")
			_, err := helm.try(ctx, "helm install")
			Expect(err).To(MatchError(ContainSubstring("invalid ownership metadata")))

			By("taking over, which does not even restart the operator")
			operator := operatorPod(ctx).UID
			helm.run(ctx, "helm adopt")
			Expect(operatorPod(ctx).UID).To(Equal(operator))
			f.userScalesOther(ctx)

			By("upgrading to a chart with another operator and another definition")
			helm.chart = newerChart(helm.chart)
			helm.run(ctx, "helm upgrade", "--force-conflicts")
			untilOperators(ctx, 1) // the former operator may still be ending
			Expect(operatorPod(ctx).Spec.Containers[0].Image).To(Equal(upgradedImage))
			k8s.Kubectl(ctx, "get", "--namespace", f.namespace, newShortName)
			f.userScalesOther(ctx)

			By("removing the operator, after which the definition and the caches stay")
			helm.uninstall(ctx)
			Expect(k8s.Remains(ctx)).To(ConsistOf("CustomResourceDefinition memcacheds.cache.example.com"))
			Expect(k8s.Reread(ctx, f.other)).To(Succeed())

			By("installing it again, which adopts all of it")
			helm.run(ctx, "helm install")
			f.userScalesOther(ctx)
			f.mustBeUntouched(ctx)
		})
})

// newShortName is a short name for Memcacheds. Only the CRD of newerChart has it.
const newShortName = "newmemc"

// helmUser runs the commands of docs/operations/helm.md with a chart that "make helm" has written.
type helmUser struct {
	commands map[string]string
	chart    string
}

func newHelmUser() *helmUser {
	GinkgoHelper()
	const path = "docs/operations/helm.md"
	page := docs.Parse(path, []byte(clustertest.Read(path)))
	chart := os.Getenv("E2E_CHART")
	Expect(chart).NotTo(BeEmpty(), "make test-e2e sets E2E_CHART to a chart")
	return &helmUser{commands: page.Named(), chart: chart}
}

// try runs a block of the page, with further flags for its last command.
func (u *helmUser) try(ctx context.Context, block string, flags ...string) (string, error) {
	GinkgoHelper()
	Expect(u.commands).To(HaveKey(block))
	commands := strings.ReplaceAll(u.commands[block], "oci://registry.example.com/charts/memcached-operator --version 0.1.0", u.chart)
	Expect(commands).NotTo(ContainSubstring("oci://"))
	return k8s.Try(ctx, "bash", "-o", "errexit", "-c", strings.TrimSpace(commands)+" "+strings.Join(flags, " "))
}

func (u *helmUser) run(ctx context.Context, block string, flags ...string) {
	GinkgoHelper()
	clustertest.Must(u.try(ctx, block, flags...))
}

func (u *helmUser) uninstall(ctx context.Context) {
	GinkgoHelper()
	u.run(ctx, "helm uninstall", "--ignore-not-found")
	Eventually(ctx, k8s.OperatorPods).WithArguments(operatorNamespace).Should(BeEmpty())
}

// newerChart returns a copy of a chart with another image of the operator, and an additional short name in the CRD.
func newerChart(chart string) string {
	GinkgoHelper()
	dir := filepath.Join(GinkgoT().TempDir(), "chart")
	Expect(os.CopyFS(dir, os.DirFS(chart))).To(Succeed())
	replace := func(file, before, after string) {
		GinkgoHelper()
		path := filepath.Join(dir, file)
		text := string(clustertest.Must(os.ReadFile(path)))
		Expect(text).To(ContainSubstring(before))
		writeFile(path, strings.Replace(text, before, after, 1))
	}
	_, tag, _ := strings.Cut(operatorImage, ":v")
	_, upgradedTag, _ := strings.Cut(upgradedImage, ":v")
	replace("values.yaml", `tag: "v`+tag+`"`, `tag: "v`+upgradedTag+`"`)
	replace("files/crds.yaml", "    - memc\n", "    - memc\n    - "+newShortName+"\n")
	return dir
}
