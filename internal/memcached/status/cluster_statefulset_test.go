// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/memcached"
)

func textOf(template corev1.PodTemplateSpec) string {
	text, err := json.Marshal(template)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// kubelet makes pods ready and removes terminating ones, in random order.
type kubelet struct {
	random *rand.Rand
	pods   []corev1.Pod
}

func (k *kubelet) startPod() bool {
	for _, i := range k.random.Perm(len(k.pods)) {
		if k.pods[i].DeletionTimestamp == nil && !memcached.PodReady(&k.pods[i]) {
			k.pods[i] = *k.pods[i].DeepCopy()
			readiness(corev1.ConditionTrue)(&k.pods[i])
			return true
		}
	}
	return false
}

func (k *kubelet) removePod() bool {
	for _, i := range k.random.Perm(len(k.pods)) {
		if k.pods[i].DeletionTimestamp != nil {
			k.pods = slices.Delete(slices.Clone(k.pods), i, i+1)
			return true
		}
	}
	return false
}

func (k *kubelet) existing() []corev1.Pod { return k.pods }

// setCluster simulates what Kubernetes does for one StatefulSet with the pod management policy Parallel: the StatefulSet controller
// (k8s.io/kubernetes/pkg/controller/statefulset: stateful_set_control.go) and the kubelet.
type setCluster struct {
	kubelet

	set *appsv1.StatefulSet
	// template is the StatefulSet's pod template as text. templates are the texts of all templates that have a revision.
	template  string
	templates []string
}

func (c *setCluster) live() client.Object {
	if c.set == nil {
		return nil
	}
	return c.set
}

func (c *setCluster) write(object client.Object) {
	wanted := object.(*appsv1.StatefulSet)
	c.template = textOf(wanted.Spec.Template)
	if c.set == nil {
		c.set = wanted
	} else if !equality.Semantic.DeepEqual(c.set.Spec, wanted.Spec) {
		c.set = c.set.DeepCopy()
		c.set.Spec = wanted.Spec
		c.set.Generation++
	}
	c.set.Annotations = wanted.Annotations
}

func (c *setCluster) remove() { *c = setCluster{kubelet: kubelet{random: c.random}} }

func (c *setCluster) templateSeen() bool { return slices.Contains(c.templates, c.template) }

func (c *setCluster) updated(pod *corev1.Pod) bool {
	return c.templateSeen() && pod.Labels[appsv1.ControllerRevisionHashLabelKey] == c.revision()
}

func (c *setCluster) revision() string {
	return fmt.Sprintf("r%d", slices.Index(c.templates, c.template))
}

func (c *setCluster) step() bool {
	if c.set == nil {
		return false
	}
	steps := []func() bool{c.sync, c.startPod, c.removePod}
	c.random.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	return slices.ContainsFunc(steps, func(step func() bool) bool { return step() })
}

// sync imitates updateStatefulSet, which reports the counts from before its own changes.
func (c *setCluster) sync() bool {
	c.set = c.set.DeepCopy()
	if !c.templateSeen() {
		c.templates = append(c.templates, c.template)
	}
	before := c.set.Status
	c.set.Status = c.count()
	acted := c.fill()
	acted = c.shrink() || acted
	acted = c.rollOut() || acted
	return acted || !equality.Semantic.DeepEqual(before, c.set.Status)
}

func (c *setCluster) size() int { return int(*c.set.Spec.Replicas) }

func (c *setCluster) find(number int) *corev1.Pod {
	i := slices.IndexFunc(c.pods, func(pod corev1.Pod) bool { return pod.Name == nameOf(number) })
	if i < 0 {
		return nil
	}
	return &c.pods[i]
}

func nameOf(number int) string { return fmt.Sprintf("cache-%d", number) }

func (c *setCluster) fill() (acted bool) {
	for i := range c.size() {
		if c.find(i) == nil {
			c.pods, acted = append(c.pods, makePod(nameOf(i), ofStatefulSet(c.revision()), notReady)), true
		}
	}
	return acted
}

func (c *setCluster) shrink() (acted bool) {
	for i := range c.pods {
		number := 0
		_, _ = fmt.Sscanf(c.pods[i].Name, "cache-%d", &number)
		if number >= c.size() {
			acted = c.terminate(&c.pods[i]) || acted
		}
	}
	return acted
}

func (*setCluster) terminate(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	*pod = *pod.DeepCopy()
	terminating(pod)
	return true
}

// rollOut imitates updateStatefulSetAfterInvariantEstablished. It replaces all unready pods of earlier revisions. It also replaces
// ready ones, from the last to the first, as far as maxUnavailable allows.
func (c *setCluster) rollOut() (acted bool) {
	budget, _ := intstr.GetScaledValueFromIntOrPercent(c.set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable, c.size(), false)
	budget = max(budget, 1)
	var unready, old []*corev1.Pod
	for i := c.size() - 1; i >= 0; i-- {
		pod := c.find(i)
		ready := memcached.PodReady(pod) && pod.DeletionTimestamp == nil
		if !ready {
			budget--
		}
		switch {
		case c.updated(pod):
		case ready:
			old = append(old, pod)
		default:
			unready = append(unready, pod)
		}
	}
	for _, pod := range unready {
		acted = c.terminate(pod) || acted
	}
	for _, pod := range old[:min(max(budget, 0), len(old))] {
		acted = c.terminate(pod) || acted
	}
	return acted
}

// count imitates updateStatus and completeRollingUpdate.
func (c *setCluster) count() appsv1.StatefulSetStatus {
	status := appsv1.StatefulSetStatus{
		ObservedGeneration: c.set.Generation, UpdateRevision: c.revision(), CurrentRevision: c.set.Status.CurrentRevision,
		CollisionCount: ptr.To(int32(0)),
	}
	if status.CurrentRevision == "" {
		status.CurrentRevision = status.UpdateRevision
	}
	for i := range c.pods {
		pod := &c.pods[i]
		status.Replicas++
		if memcached.PodReady(pod) {
			status.ReadyReplicas++
			status.AvailableReplicas++
		}
		if pod.DeletionTimestamp == nil && c.updated(pod) {
			status.UpdatedReplicas++
		}
	}
	if size := *c.set.Spec.Replicas; status.UpdatedReplicas == size && status.ReadyReplicas == size && status.Replicas == size {
		status.CurrentRevision = status.UpdateRevision
	}
	return status
}
