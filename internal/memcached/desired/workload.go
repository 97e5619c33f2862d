// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/rollout"
)

// deploymentOf returns, alone, the Deployment that runs the nodes. It does not check the memory limit of running pods again. A later
// version of the operator may compute a higher minimum, but must not stop a running cache.
func deploymentOf(v memcached.View, opts memcached.Options, plan *memcached.Plan) []client.Object {
	mc := v.Memcached
	hash := templateHash(mc, opts)
	defaults, changed := decideDefaults(v, opts, hash)
	plan.Problem = memcached.CheckPriority(mc.Spec.Scheduling, opts).And(checkMemoryLimit(mc, changed))
	plan.Record = memcached.Record{Template: hash, Defaults: defaults}
	plan.StaleDefaults = staleDefaults(mc, defaults, opts)
	surge, unavailable := updateLimits(mc)
	return []client.Object{nodeRole(mc).deployment(plan.Record, mc.Spec.Size, mc.Spec.UpdateStrategy.MinReadySeconds, surge, unavailable,
		podTemplate(mc, 0, opts, defaults))}
}

// statefulSetsOf returns the StatefulSets that run the nodes, and adds to the plan what their pods do next. Their update strategy is
// OnDelete. So their templates, which have the present defaults, reach only new pods.
func statefulSetsOf(v memcached.View, opts memcached.Options, plan *memcached.Plan) []client.Object {
	mc := v.Memcached
	c := change{fleet: fleetOf(v, targetOf(v)), list: argumentList(mc), plan: plan}
	for number := range v.Workloads {
		c.templates = append(c.templates, askedTemplate(mc, number, opts, c.target, lastRestarts(v).kubectl))
	}
	plan.Problem = plan.Problem.And(memcached.CheckPriority(mc.Spec.Scheduling, opts)).And(checkMemoryLimit(mc, c.asksForMore())).
		And(memcached.CheckAgentImage("spec.workload StatefulSet", opts.AgentImage)).And(checkCopies(mc, opts))
	c.decide(mc.Spec.Paused || mc.DeletionTimestamp != nil || plan.Problem != nil)
	c.observeFills()
	if arguments := argumentsConfigMap(c.fleet); arguments != nil {
		plan.Objects = append(plan.Objects, arguments)
	}
	var sets []client.Object
	for number, template := range c.templates {
		live := v.Workloads[number]
		if live != nil && !plan.Rollout.Template && asApplied(live.Template) {
			template = held(live.Template, template.ObjectMeta)
		}
		sets = append(sets, statefulSet(mc, number, template))
	}
	return sets
}

// asApplied reports whether the pod spec in the template is as the operator has applied it. If somebody has changed it, the operator writes
// its own.
func asApplied(live *corev1.PodTemplateSpec) bool {
	asked, found := memcached.AskedOf(live.Annotations)
	return found && asked.Applied == hashOf(live.Spec)
}

// held returns the live template, without the labels and annotations that only others set. If the operator applied these, it would own and
// later remove them, and with the annotation of kubectl rollout restart replace every pod.
func held(live *corev1.PodTemplateSpec, ours metav1.ObjectMeta) corev1.PodTemplateSpec {
	template := *live.DeepCopy()
	for _, keys := range [][2]map[string]string{{template.Labels, ours.Labels}, {template.Annotations, ours.Annotations}} {
		maps.DeleteFunc(keys[0], func(key, _ string) bool {
			_, known := keys[1][key]
			return !known
		})
	}
	return template
}

// asksForMore reports whether no node was asked for these resources and arguments before. Nodes that were keep a memory limit for which
// this version of the operator computes a higher minimum.
func (c *change) asksForMore() bool {
	for _, n := range c.nodes {
		if n.Pod == rollout.Present && n.Asked.Resources == c.target.Resources && n.Asked.Arguments == c.target.Arguments {
			return false
		}
	}
	return true
}

// updateLimits returns the workload's maxSurge and maxUnavailable, which are never both 0. An additional node remaps keys when it joins
// and when it leaves. So the default is no surge, unless there is only one node.
func updateLimits(mc *cachev1alpha1.Memcached) (surge, unavailable intstr.IntOrString) {
	none, one := intstr.FromInt32(0), intstr.FromInt32(1)
	unavailable = ptr.Deref(mc.Spec.UpdateStrategy.MaxUnavailable, one)
	if mc.Spec.UpdateStrategy.MaxUnavailable == nil && mc.Spec.Size <= 1 {
		unavailable = none
	}
	switch {
	case !isZero(unavailable):
		return none, unavailable
	case memcached.IsStatefulSet(mc): // a node must stop before its replacement can have the same name
		return none, one
	default:
		return one, none
	}
}

func isZero(value intstr.IntOrString) bool {
	return value.String() == "0" || value.String() == "0%"
}

// statefulSet returns the StatefulSet that runs the nodes of a copy. Nodes keep their names when they are replaced. They start and stop
// independently of each other.
func statefulSet(mc *cachev1alpha1.Memcached, number int, template corev1.PodTemplateSpec) *appsv1.StatefulSet {
	metadata := nodeRole(mc).metadata("", cachev1alpha1.Metadata{})
	metadata.Name = memcached.CopyName(mc, number)
	return &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metadata,
		Spec: appsv1.StatefulSetSpec{
			Replicas:            &mc.Spec.Size,
			Selector:            &metav1.LabelSelector{MatchLabels: memcached.CopyLabels(mc, number)},
			ServiceName:         mc.Name + memcached.NodesSuffix,
			PodManagementPolicy: appsv1.ParallelPodManagement,
			MinReadySeconds:     mc.Spec.UpdateStrategy.MinReadySeconds,
			// A rollback cannot restore the items of a cache. One old revision is enough to show what has changed.
			RevisionHistoryLimit: ptr.To(int32(1)),
			// The StatefulSet's controller only creates missing pods. Package rollout decides what happens to the others.
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Template:       withAPIDefaults(template),
		},
	}
}
