// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/clustertest"
)

var _ = Describe("A change in place whose operator is killed after each step", Label(onLocalCluster), func() {
	It("ends, and keeps pods, addresses and keys", SpecTimeout(10*time.Minute), func(ctx SpecContext) {
		c := newKeptCache(ctx, inFile, inPlace, memoryLimit("400Mi"))
		allowInPlace(ctx, c.mc.Namespace)
		DeferCleanup(untilOperators, 1)
		expected := []string{"cache: template"}
		for _, pod := range c.pods {
			expected = append(expected, "cache-arguments: .*entry "+pod.Name)
			for _, step := range []string{"asked", "memory", "image", "revision"} {
				expected = append(expected, pod.Name+": .*"+step)
			}
		}
		c.mustKeepWithout(ctx, "image, memory limit and threads in one edit", 1, func(mc *cachev1alpha1.Memcached) {
			c.image("-alpine")(mc)
			memoryLimit("420Mi")(mc)
			mc.Spec.Config.Threads = 3
		}, expected)
	})
})

// mustKeepWithout makes a change, and kills the operator whenever a step of the change is seen. The change must keep pods, addresses
// and keys. Each expected pattern must match a step.
func (c *keptCache) mustKeepWithout(
	ctx context.Context, change string, restarts int32, edit func(*cachev1alpha1.Memcached), expected []string,
) {
	GinkgoHelper()
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.mc.Namespace, Name: c.mc.Name + memcached.ArgumentsSuffix}}
	Expect(client.IgnoreNotFound(k8s.Reread(ctx, config))).To(Succeed())
	k := &killer{known: map[string]map[string]string{keyOf(config): writtenTo(config)}} // its creation is a step
	var stops []func()
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ConfigMapList{}, &appsv1.StatefulSetList{}} {
		stops = append(stops, k.follow(ctx, list, c.mc.Namespace))
	}
	c.mustKeep(ctx, change, longestUpdate, restarts, edit)
	for _, stop := range stops {
		stop()
	}
	c.mustRunTheSame(ctx)
	clustertest.AddTable("Steps of "+change, k.steps)
	for _, step := range expected {
		Expect(k.steps).To(ContainElement(ContainElement(MatchRegexp(step))))
	}
	Expect(k.kills).To(BeNumerically(">=", len(expected)/2), "some steps follow each other faster than anything can be killed")
}

// killer kills the operator as soon as it has changed a pod, a ConfigMap or the StatefulSet of a cache. Each change is a step.
type killer struct {
	mutex sync.Mutex
	// known is the latest result of writtenTo for each object.
	known map[string]map[string]string
	steps [][]string
	kills int
}

func (k *killer) follow(ctx context.Context, list client.ObjectList, namespace string) (stop func()) {
	GinkgoHelper()
	changes := clustertest.Must(k8s.Watch(context.WithoutCancel(ctx), list, client.InNamespace(namespace)))
	ended := clustertest.InBackground(ctx, func(ctx context.Context) {
		defer GinkgoRecover()
		for change := range changes.ResultChan() {
			if object, ok := change.Object.(client.Object); ok {
				k.saw(context.WithoutCancel(ctx), object)
			}
		}
	})
	DeferCleanup(changes.Stop) // otherwise, the end of the spec would wait for the watch
	return func() {
		changes.Stop()
		ended()
	}
}

func (k *killer) saw(ctx context.Context, object client.Object) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	key := keyOf(object)
	was, seen := k.known[key]
	k.known[key] = writtenTo(object)
	step := differences(was, k.known[key])
	if !seen || len(step) == 0 {
		return
	}
	row := []string{object.GetName() + ": " + strings.Join(step, ", "), ""}
	if killOperators(ctx) {
		k.kills++
		row[1] = "killed"
	}
	k.steps = append(k.steps, row)
}

func keyOf(object client.Object) string { return fmt.Sprintf("%T %s", object, object.GetName()) }

// writtenTo returns those values of an object that the operator writes during a change in place, by name.
func writtenTo(object client.Object) map[string]string {
	switch object := object.(type) {
	case *corev1.Pod:
		return map[string]string{
			"asked": object.Annotations[memcached.AskedAnnotation], "image": object.Spec.Containers[0].Image,
			"memory": object.Spec.Containers[0].Resources.Limits.Memory().String(), "revision": object.Labels[appsv1.StatefulSetRevisionLabel],
		}
	case *appsv1.StatefulSet:
		return map[string]string{"template": object.Spec.Template.String()}
	case *corev1.ConfigMap:
		written := map[string]string{}
		for key, text := range object.Data {
			written["entry "+key] = text
		}
		return written
	}
	return nil
}

func differences(was, is map[string]string) []string {
	all := maps.Clone(is)
	maps.Copy(all, was)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(key string) bool { return was[key] == is[key] })
}

// killOperators kills all running operators and reports whether there was one. It deletes their pods, because the kubelet delays
// each further restart of a container. It also deletes the lease: otherwise, the next operator would wait until the lease ends.
func killOperators(ctx context.Context) bool {
	GinkgoHelper()
	running := processesOf("manager", "pod")
	for _, manager := range running {
		manager.signal(syscall.SIGKILL)
	}
	if len(running) == 0 {
		return false
	}
	Expect(k8s.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(operatorNamespace),
		client.MatchingLabels{"control-plane": "controller-manager"}, client.GracePeriodSeconds(0))).To(Succeed())
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: operatorNamespace, Name: "memcached-operator.cache.example.com",
	}}
	Expect(client.IgnoreNotFound(k8s.Delete(ctx, lease))).To(Succeed())
	return true
}
