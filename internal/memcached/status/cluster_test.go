// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/memcached"
)

// cluster simulates what Kubernetes does for one Deployment: the Deployment controller
// (k8s.io/kubernetes/pkg/controller/deployment: sync.go, rolling.go, progress.go), the ReplicaSet controller and the kubelet. Each
// acts on what the others have written. They take steps one at a time, in random order.
type cluster struct {
	kubelet

	deployment *appsv1.Deployment
	// template is the Deployment's pod template as text.
	template    string
	replicaSets []*replicaSet
	names       int
	// look is called in the middle of a step, when the operator could already see a part of the step's changes.
	look func()
}

func (c *cluster) live() client.Object {
	if c.deployment == nil {
		return nil
	}
	return c.deployment
}

func (c *cluster) write(object client.Object) {
	wanted := object.(*appsv1.Deployment)
	c.template = textOf(wanted.Spec.Template)
	if c.deployment == nil {
		c.deployment = wanted
		return
	}
	if !equality.Semantic.DeepEqual(c.deployment.Spec, wanted.Spec) {
		c.deployment.Spec = wanted.Spec
		c.deployment.Generation++
	}
	maps.Copy(c.deployment.Annotations, wanted.Annotations)
}

func (c *cluster) remove() { *c = cluster{kubelet: kubelet{random: c.random}, look: c.look} }

func (c *cluster) templateSeen() bool { return c.newest() != nil }

func (c *cluster) updated(pod *corev1.Pod) bool {
	newest := c.newest()
	return newest != nil && pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] == newest.hash
}

// replicaSet is a ReplicaSet; the last two fields are its status.
type replicaSet struct {
	hash, template string
	revision       int
	// wanted is the size of the Deployment when the ReplicaSet was last scaled, like the annotation desired-replicas.
	replicas, wanted int32

	actual, ready int32
}

// step tries the possible steps in random order until one changes something. It reports whether one did.
func (c *cluster) step() bool {
	if c.deployment == nil {
		return false
	}
	steps := []func() bool{c.syncDeployment, c.startPod, c.removePod}
	for _, rs := range c.replicaSets {
		steps = append(steps, func() bool { return c.syncReplicaSet(rs) })
	}
	c.random.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	return slices.ContainsFunc(steps, func(step func() bool) bool { return step() })
}

func (c *cluster) size() int32 { return *c.deployment.Spec.Replicas }

// newest returns the ReplicaSet of the Deployment's current template, nil if there is none.
func (c *cluster) newest() *replicaSet {
	for _, rs := range c.replicaSets {
		if rs.template == c.template {
			return rs
		}
	}
	return nil
}

func (c *cluster) syncDeployment() bool {
	before, revision := c.deployment.Status, c.deployment.Annotations[revisionAnnotation]
	var scaled bool
	if slices.ContainsFunc(c.replicaSets, func(rs *replicaSet) bool { return rs.replicas > 0 && rs.wanted != c.size() }) {
		scaled = c.scale()
		c.deployment.Status = c.count()
	} else {
		newest := c.adopt()
		if scaled = c.scaleNew(newest); !scaled {
			scaled = c.scaleOld(newest)
		}
		c.deployment.Status = c.judge()
	}
	return scaled || revision != c.deployment.Annotations[revisionAnnotation] ||
		!equality.Semantic.DeepEqual(before, c.deployment.Status)
}

// adopt finds or creates the ReplicaSet of the template. Like the real controller, it sets the Deployment's revision before the
// observed generation changes.
func (c *cluster) adopt() *replicaSet {
	latest := 0
	newest := c.newest()
	for _, rs := range c.replicaSets {
		if rs != newest {
			latest = max(latest, rs.revision)
		}
	}
	if newest == nil {
		newest = &replicaSet{hash: fmt.Sprintf("h%d", len(c.replicaSets)), template: c.template, wanted: c.size()}
		c.replicaSets = append(c.replicaSets, newest)
		c.say("NewReplicaSetCreated")
	}
	newest.revision = max(newest.revision, latest+1)
	revision(newest.revision)(c.deployment)
	c.look()
	return newest
}

func (c *cluster) say(reason string) {
	c.deployment.Status.Conditions = nil
	progress(reason)(c.deployment)
}

func (c *cluster) limits() (surge, unavailable int32) {
	update := c.deployment.Spec.Strategy.RollingUpdate
	up, _ := intstr.GetScaledValueFromIntOrPercent(update.MaxSurge, int(c.size()), true)
	down, _ := intstr.GetScaledValueFromIntOrPercent(update.MaxUnavailable, int(c.size()), false)
	if up == 0 && down == 0 {
		down = 1
	}
	return int32(up), min(int32(down), c.size())
}

// scale handles a new size. During a rollout, the real controller distributes the new size over all ReplicaSets. Here only the last
// one with pods changes.
func (c *cluster) scale() bool {
	active := slices.DeleteFunc(slices.Clone(c.replicaSets), func(rs *replicaSet) bool { return rs.replicas == 0 })
	surge, _ := c.limits()
	total := c.size()
	if len(active) > 1 {
		total += surge
	}
	for _, rs := range active[:len(active)-1] {
		total -= rs.replicas
		rs.wanted = c.size()
	}
	last := active[len(active)-1]
	last.wanted, last.replicas = c.size(), max(total, 0)
	return true
}

func (c *cluster) scaleNew(newest *replicaSet) bool {
	surge, _ := c.limits()
	replicas := newest.replicas
	if room := c.size() + surge - c.total(); room > 0 || replicas > c.size() {
		replicas = min(replicas+max(room, 0), c.size())
	}
	return setReplicas(newest, replicas, c.size())
}

func (c *cluster) scaleOld(newest *replicaSet) bool {
	_, unavailable := c.limits()
	least := c.size() - unavailable
	ready := int32(0)
	for _, rs := range c.replicaSets {
		// rs.ready may still include pods that are about to be deleted. They do not count here. The real controller counts them, and relies on
		// their deletion before new pods become ready.
		ready += min(rs.ready, rs.replicas)
	}
	if c.total()-least-(newest.replicas-newest.ready) <= 0 {
		return false
	}
	scaled := false
	for _, rs := range c.replicaSets {
		if less := min(rs.replicas, ready-least); rs != newest && less > 0 {
			ready -= less
			scaled = setReplicas(rs, rs.replicas-less, c.size()) || scaled
		}
	}
	return scaled
}

func setReplicas(rs *replicaSet, replicas, wanted int32) bool {
	changed := rs.replicas != replicas
	if changed {
		rs.replicas, rs.wanted = replicas, wanted
	}
	return changed
}

func (c *cluster) total() int32 {
	total := int32(0)
	for _, rs := range c.replicaSets {
		total += rs.replicas
	}
	return total
}

// count imitates calculateStatus.
func (c *cluster) count() appsv1.DeploymentStatus {
	status := appsv1.DeploymentStatus{
		ObservedGeneration: c.deployment.Generation, Conditions: c.deployment.Status.Conditions,
	}
	for _, rs := range c.replicaSets {
		status.Replicas += rs.actual
		status.ReadyReplicas += rs.ready
		status.AvailableReplicas += rs.ready
	}
	if newest := c.newest(); newest != nil {
		status.UpdatedReplicas = newest.actual
	}
	return status
}

// judge imitates syncRolloutStatus.
func (c *cluster) judge() appsv1.DeploymentStatus {
	old, status := c.deployment.Status, c.count()
	var reason string
	if i := slices.IndexFunc(old.Conditions, func(condition appsv1.DeploymentCondition) bool {
		return condition.Type == appsv1.DeploymentProgressing
	}); i >= 0 {
		reason = old.Conditions[i].Reason
	}
	switch {
	case reason == rolloutComplete && status.Replicas == status.UpdatedReplicas:
		return status
	case status.UpdatedReplicas == c.size() && status.Replicas == c.size() && status.ReadyReplicas == c.size():
		c.say(rolloutComplete)
	case status.UpdatedReplicas > old.UpdatedReplicas, status.ReadyReplicas > old.ReadyReplicas,
		status.Replicas-status.UpdatedReplicas < old.Replicas-old.UpdatedReplicas:
		c.say("ReplicaSetUpdated")
	}
	status.Conditions = c.deployment.Status.Conditions
	return status
}

// syncReplicaSet creates or deletes pods. If there are as many as rs.replicas, it updates the counts.
func (c *cluster) syncReplicaSet(rs *replicaSet) bool {
	var own []int
	ready := int32(0)
	for i := range c.pods {
		if c.pods[i].Labels[appsv1.DefaultDeploymentUniqueLabelKey] == rs.hash && c.pods[i].DeletionTimestamp == nil {
			own = append(own, i)
			if memcached.PodReady(&c.pods[i]) {
				ready++
			}
		}
	}
	switch count := int32(len(own)); {
	case count < rs.replicas:
		for range rs.replicas - count {
			c.names++
			c.pods = append(c.pods, makePod(fmt.Sprintf("cache-%s-%d", rs.hash, c.names), ofReplicaSet("cache", rs.hash), notReady))
		}
	case count > rs.replicas:
		for _, i := range own[rs.replicas:] {
			terminating(&c.pods[i])
		}
	case rs.actual != count || rs.ready != ready:
		rs.actual, rs.ready = count, ready
	default:
		return false
	}
	return true
}
