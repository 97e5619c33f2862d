// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	agentprotocol "github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// launchers imitates the launchers and agents of nodes. Launchers follow the ConfigMap only when a test calls follow.
type launchers struct {
	mutex sync.Mutex
	// running holds the arguments that each pod runs with, by the pod's name. The launcher of a pod without an entry does not answer.
	running map[string]protocol.List
	refused map[string]*protocol.Refusal
	fills   map[string]*protocol.Fill
	asked   []string
	// problems are the problems that agents report, by the name of the pod. The agent of a pod without an entry does not answer.
	problems map[string][]agentprotocol.Problem
}

// Launcher implements controllers.Nodes.
func (l *launchers) Launcher(_ context.Context, pod *corev1.Pod) (protocol.Status, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.asked = append(l.asked, pod.Name)
	list, ok := l.running[pod.Name]
	if !ok || pod.Status.PodIP == "" {
		return protocol.Status{}, errors.New("connection refused")
	}
	return protocol.Status{Hash: list.Hash(), List: list.String(), Refused: l.refused[pod.Name], Fill: l.fills[pod.Name], SecondsInEffect: 3600}, nil
}

// Proxy implements controllers.Nodes.
func (*launchers) Proxy(context.Context, *corev1.Pod) (protocol.ProxyStatus, error) {
	return protocol.ProxyStatus{}, errors.ErrUnsupported
}

// Agent implements controllers.Nodes.
func (l *launchers) Agent(_ context.Context, pod *corev1.Pod, hosts []string) (agentprotocol.Status, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.asked = append(l.asked, strings.Join(append([]string{pod.Name}, hosts...), " "))
	problems, ok := l.problems[pod.Name]
	if !ok || pod.Status.PodIP == "" {
		return agentprotocol.Status{}, errors.New("connection refused")
	}
	return agentprotocol.Status{Problems: problems}, nil
}

// look returns the requests since its last call, sorted. Each is the name of a pod, followed by the hosts if its agent was asked.
func (l *launchers) look() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	asked := l.asked
	l.asked = nil
	slices.Sort(asked)
	return asked
}

// follow makes the nodes with these numbers run the arguments in the ConfigMap.
func (l *launchers) follow(ctx context.Context, mc *cachev1alpha1.Memcached, ordinals ...int) {
	GinkgoHelper()
	view := memcached.View{Memcached: mc, Observed: memcached.Observed{Children: []client.Object{argumentsOf(ctx, mc)}}}
	arguments := view.Arguments()
	for i := range pods(ctx, mc.Namespace, mc.Name) {
		pod := pods(ctx, mc.Namespace, mc.Name)[i]
		ordinal, _ := memcached.Ordinal(&pod)
		if section := arguments.Sections[pod.Annotations[memcached.TemplateAnnotation]]; slices.Contains(ordinals, ordinal) {
			if l.running == nil {
				l.running = map[string]protocol.List{}
			}
			l.running[pod.Name] = arguments.Lists[section.Nodes[ordinal]]
		}
	}
}

func argumentsOf(ctx context.Context, mc *cachev1alpha1.Memcached) *corev1.ConfigMap {
	GinkgoHelper()
	found := &corev1.ConfigMap{}
	Expect(user.Get(ctx, client.ObjectKey{Namespace: mc.Namespace, Name: mc.Name + "-arguments"}, found)).To(Succeed())
	return found
}

var _ = Describe("The arguments of a StatefulSet's nodes", func() {
	var o *operator
	BeforeEach(func() { o = newOperator(defaults) })

	// running returns a Memcached whose three nodes run.
	running := func(ctx context.Context) *cachev1alpha1.Memcached {
		GinkgoHelper()
		mc := settled(ctx, o, stable)
		o.nodes.follow(ctx, mc, 0, 1, 2)
		o.step(ctx, mc)
		Expect(o.nodes.look()).To(BeEmpty())
		return mc
	}
	// moved returns the numbers of the nodes whose arguments are not the default of their section of the ConfigMap.
	moved := func(ctx context.Context, mc *cachev1alpha1.Memcached) []int {
		GinkgoHelper()
		var ordinals []int
		for key, text := range argumentsOf(ctx, mc).Data {
			if _, ok := protocol.SectionTemplate(key); !ok {
				continue
			}
			section, err := protocol.ParseSection(text)
			Expect(err).NotTo(HaveOccurred())
			for ordinal, hash := range section.Nodes {
				if hash != section.Default {
					ordinals = append(ordinals, ordinal)
				}
			}
		}
		slices.Sort(ordinals)
		return ordinals
	}
	threads := func(n int32) func(*cachev1alpha1.Memcached) {
		return func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Threads = n }
	}

	It("are there before the StatefulSet, and without them there is none", func(ctx SpecContext) {
		mc := newMemcached(ctx, 1, stable)
		theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: "cache-arguments"}}
		Expect(user.Create(ctx, theirs)).To(Succeed())
		Expect(o.try(ctx, mc, writeService, writeBudget, writeConfigMap, writeArguments+" (409)", writeStatus)).To(Succeed())
		Expect(message(ctx, mc, "Degraded")).To(Equal(
			"ConfigMap cache-arguments exists already and belongs to nobody: delete or rename one of the two"))
		Expect(user.Delete(ctx, theirs)).To(Succeed())
		o.wait(time.Minute)
		Expect(o.try(ctx, mc, writeArguments, writeStatefulSet, writeStatus)).To(Succeed())
		arguments, set := argumentsOf(ctx, mc), live(ctx, mc, &appsv1.StatefulSet{})
		Expect(metav1.IsControlledBy(arguments, mc)).To(BeTrue())
		Expect(set.Spec.Template.Annotations).To(HaveKey(memcached.TemplateAnnotation))
		Expect(arguments.Data).To(HaveKey(protocol.SectionKey(set.Spec.Template.Annotations[memcached.TemplateAnnotation])))
	})

	It("change node by node, with one write for each, and nobody is asked for nothing", func(ctx SpecContext) {
		mc := running(ctx)
		template := live(ctx, mc, &appsv1.StatefulSet{}).Spec.Template
		change(ctx, mc, threads(2))
		for _, step := range []struct{ moves, runs int }{{2, 3}, {1, 2}, {0, 1}} {
			asked := []string{nodeName(step.moves)}
			writes := []string{writeArguments, writeStatus}
			if step.runs < 3 {
				o.nodes.follow(ctx, mc, step.runs)
				asked = []string{nodeName(step.moves), nodeName(step.runs)}
			}
			o.step(ctx, mc, writes...)
			Expect(o.nodes.look()).To(Equal(asked))
			Expect(moved(ctx, mc)).To(HaveLen(3 - step.moves))
			Expect(summary(ctx, mc, "Progressing")).To(Equal("True/RollingOut"))
			o.step(ctx, mc)
			Expect(o.nodes.look()).To(Equal([]string{nodeName(step.moves)}))
			Expect(o.result.RequeueAfter).To(BeNumerically(">", 0))
		}
		o.nodes.follow(ctx, mc, 0)
		o.step(ctx, mc, writeArguments, writeStatus)
		Expect(argumentsOf(ctx, mc).Data).To(HaveLen(2))
		Expect(status(ctx, mc).LastApplied.ArgumentsHash).To(Equal(o.nodes.running["cache-0"].Hash()))
		Expect(summary(ctx, mc, "Ready")).To(Equal("True/AllNodesReady"))
		Expect(live(ctx, mc, &appsv1.StatefulSet{}).Spec.Template).To(Equal(template))
		o.nodes.look()
		o.step(ctx, mc)
		Expect(o.requests.Lists()).To(BeEmpty())
		Expect(o.nodes.look()).To(BeEmpty())
		Expect(o.result.RequeueAfter).To(BeZero())
		another := newOperator(defaults)
		another.step(ctx, mc)
		Expect(another.nodes.look()).To(BeEmpty())
	})

	It("go on in another process, which first asks the API server for them", func(ctx SpecContext) {
		mc := running(ctx)
		change(ctx, mc, threads(2))
		o.step(ctx, mc, writeArguments, writeStatus)
		o.nodes.follow(ctx, mc, 2)
		another := newOperator(defaults)
		another.nodes.running = o.nodes.running
		Expect(another.try(ctx, mc, writeArguments, writeStatus)).To(Succeed())
		Expect(another.requests.Gets()).To(ConsistOf("get configmaps"))
		Expect(moved(ctx, mc)).To(Equal([]int{1, 2}))
		another.nodes.follow(ctx, mc, 1)
		another.step(ctx, mc, writeArguments, writeStatus)
		Expect(moved(ctx, mc)).To(Equal([]int{0, 1, 2}))
	})

	It("stay as they are if a pause comes", func(ctx SpecContext) {
		mc := running(ctx)
		change(ctx, mc, threads(2))
		o.step(ctx, mc, writeArguments, writeStatus)
		pause(ctx, mc, true)
		o.nodes.follow(ctx, mc, 2)
		o.nodes.look()
		o.step(ctx, mc, writeStatus)
		o.step(ctx, mc)
		Expect(moved(ctx, mc)).To(Equal([]int{2}))
		Expect(o.nodes.look()).To(BeEmpty())
		pause(ctx, mc, false)
		o.step(ctx, mc, writeArguments, writeStatus)
		Expect(moved(ctx, mc)).To(Equal([]int{1, 2}))
	})

	It("cannot be written: then only the size of the StatefulSet is", func(ctx SpecContext) {
		mc := running(ctx)
		template := live(ctx, mc, &appsv1.StatefulSet{}).Spec.Template
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Size, mc.Spec.ImagePullPolicy = 4, corev1.PullAlways
		})
		change(ctx, argumentsOf(ctx, mc), func(c *corev1.ConfigMap) {
			c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: "theirs", UID: "theirs", Controller: ptr.To(true)}}
		})
		o.wait(time.Minute)
		_ = o.try(ctx, mc, writeStatefulSet, writeStatus)
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/Conflict"))
		Expect(live(ctx, mc, &appsv1.StatefulSet{}).Spec.Template).To(Equal(template))
		Expect(live(ctx, mc, &appsv1.StatefulSet{}).Spec.Replicas).To(HaveValue(BeEquivalentTo(4)))
	})

	It("are refused by somebody's webhook: no node moves", func(ctx SpecContext) {
		mc := running(ctx)
		change(ctx, mc, threads(2))
		o.refuse = func(status bool) error {
			if status {
				return nil
			}
			return apierrors.NewForbidden(corev1.Resource("configmaps"), "cache-arguments", errors.New("only on Tuesdays"))
		}
		Expect(o.try(ctx, mc, writeStatus)).NotTo(Succeed())
		Expect(moved(ctx, mc)).To(BeEmpty())
		o.refuse = nil
		o.wait(time.Minute)
		Expect(o.try(ctx, mc, writeArguments, writeStatus)).To(Succeed())
		Expect(moved(ctx, mc)).To(Equal([]int{2}))
	})

	It("are changed again and again by somebody: the StatefulSet is written, and created again", func(ctx SpecContext) {
		mc := running(ctx)
		for range 3 {
			o.wait(30 * time.Second)
			change(ctx, argumentsOf(ctx, mc), func(c *corev1.ConfigMap) { c.Data = map[string]string{"mine": "too"} })
			Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		}
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/FieldContested"))
		change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.ImagePullPolicy = corev1.PullAlways })
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		Expect(live(ctx, mc, &appsv1.StatefulSet{}).Spec.Template.Spec.Containers[0].ImagePullPolicy).To(Equal(corev1.PullAlways))
		Expect(user.Delete(ctx, live(ctx, mc, &appsv1.StatefulSet{}))).To(Succeed())
		o.wait(time.Minute) // a contested ConfigMap is written every 30 s at most
		Expect(o.Reconcile(ctx, request(mc))).Error().NotTo(HaveOccurred())
		live(ctx, mc, &appsv1.StatefulSet{})
	})

	It("wait for a node that nobody can ask, and say what helps", func(ctx SpecContext) {
		mc := running(ctx)
		delete(o.nodes.running, "cache-2")
		change(ctx, mc, threads(2))
		o.step(ctx, mc, writeStatus)
		Expect(moved(ctx, mc)).To(BeEmpty())
		Expect(message(ctx, mc, "Progressing")).To(ContainSubstring("cannot ask the node cache-2 on port 9151"))
		Expect(o.result.RequeueAfter).To(BeNumerically(">", 0))
	})

	It("are refused by memcached: the cache is Degraded, and goes on with others", func(ctx SpecContext) {
		mc := running(ctx)
		change(ctx, mc, threads(2))
		o.step(ctx, mc, writeArguments, writeStatus)
		former := o.nodes.running["cache-2"]
		o.nodes.follow(ctx, mc, 2)
		o.nodes.refused = map[string]*protocol.Refusal{"cache-2": {Hash: o.nodes.running["cache-2"].Hash(), Reason: "no."}}
		o.nodes.running["cache-2"] = former
		_ = o.try(ctx, mc, writeStatus)
		Expect(summary(ctx, mc, "Degraded")).To(Equal("True/ConfigurationRefused"))
		Expect(moved(ctx, mc)).To(Equal([]int{2}))
		change(ctx, mc, threads(3))
		Expect(o.try(ctx, mc, writeArguments, writeStatus)).To(Succeed())
		Expect(summary(ctx, mc, "Degraded")).To(Equal("False/AsExpected"))
	})
})

func nodeName(ordinal int) string { return "cache-" + string(rune('0'+ordinal)) }
