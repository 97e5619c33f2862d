// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/manifests"
)

// TestStart starts a manager with the permissions of config/namespaced, which are for one namespace, before somebody installs the CRD.
func TestStart(t *testing.T) {
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(time.Minute)
	i := installation{manifests.Start(t)}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: manifests.Namespace}}
	g.Expect(i.Admin.Create(t.Context(), namespace)).To(Succeed())
	i.Apply(t, kustomize.Render(t, "config/namespaced"))
	address := freeAddress(t)
	start := func() *manager {
		return command(t, []string{image, namespaceVariable + "=" + namespace.Name, "KUBECONFIG=" + i.Kubeconfig(t, manifests.Account)},
			"--health-probe-bind-address="+address)
	}
	early, m := start(), start()
	g.Expect(early.Run()).NotTo(Succeed())
	g.Expect(early.output()).To(ContainSubstring("set up the controller, which needs the CRD of this version: no matches for kind"))
	i.Apply(t, kustomize.Render(t, "config/crd"))
	g.Eventually(func() error { return i.Admin.List(t.Context(), &cachev1alpha1.MemcachedList{}) }).Should(Succeed())
	g.Expect(m.Start()).To(Succeed())
	g.Eventually(statusOf(t, "http://"+address+"/readyz")).Should(Equal(http.StatusOK), m.output)
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "cache"}}
	g.Expect(i.Admin.Create(t.Context(), mc)).To(Succeed())
	g.Eventually(i.Conditions(t, mc)).ShouldNot(BeEmpty(), m.output)
	g.Expect(m.Process.Kill()).To(Succeed())
	g.Expect(m.Wait()).NotTo(Succeed())
}
