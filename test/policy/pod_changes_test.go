// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// livingPod returns a pod that the operator may change in place. A StatefulSet controls the pod. The pod also has a container that
// somebody has added.
func livingPod() *corev1.Pod {
	pod := lostPodOf("living")
	pod.Spec = corev1.PodSpec{
		Containers: []corev1.Container{{Name: "memcached", Image: "docker.io/library/memcached:1.6.45", Resources: limited("100Mi")}, {
			Name: "mesh", Image: "example.com/mesh", Resources: limited("50Mi"),
		}},
		InitContainers: []corev1.Container{{Name: "launcher", Image: agentImage}, {
			Name: "memcached-agent", Image: agentImage, RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
		}},
		SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/gate"}},
	}
	pod.Annotations = map[string]string{"team": "storefront", "cache.example.com/template": hash, "cache.example.com/template-base": hash}
	pod.Status = corev1.PodStatus{}
	return pod
}

func limited(memory string) corev1.ResourceRequirements {
	list := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
	return corev1.ResourceRequirements{Limits: list, Requests: list}
}

// unlike returns pods that differ from livingPod in one way each, and that the operator must not change.
func unlike() map[string]*corev1.Pod {
	pod := func(name string, change func(*corev1.Pod)) *corev1.Pod {
		pod := livingPod()
		pod.Name = name
		change(pod)
		return pod
	}
	return map[string]*corev1.Pod{
		"of another operator": pod("alive-of-another", func(p *corev1.Pod) { p.Labels["app.kubernetes.io/managed-by"] = "another" }),
		"of nobody":           pod("alive-of-nobody", func(p *corev1.Pod) { p.OwnerReferences = nil }),
		"of a Deployment":     pod("alive-of-deployment", func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "ReplicaSet" }),
		"of another set":      pod("alive-of-database", func(p *corev1.Pod) { p.OwnerReferences[0].Name = "database" }),
	}
}

func changeImage(p *corev1.Pod) { p.Spec.Containers[0].Image = "docker.io/library/memcached:1.6.46" }

func changedInPlace(change func(*corev1.Pod)) attempt { return update(livingPod(), change) }

// resized returns an attempt to set the memory of the container with this index in livingPod.
func resized(index int, memory string) attempt {
	return func(t *testing.T, c client.Client) error {
		t.Helper()
		pod := livingPod()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		pod.Spec.Containers[index].Resources = limited(memory)
		return c.SubResource("resize").Update(t.Context(), pod, client.DryRunAll)
	}
}

func podChangeEscalations() []escalation {
	const pods, owner = "metadata.labels: the operator changes pods of Memcacheds only", "metadata.ownerReferences: the operator changes pods of the StatefulSet"
	const label, annotation = "metadata.labels: the operator changes controller-revision-hash only", "metadata.annotations: the operator changes cache.example.com/template"
	const owners, spec = "metadata.ownerReferences, finalizers: the operator does not change", "spec: the operator changes images and resources of pods only"
	const containers = "spec.containers, initContainers: the operator changes memcached and memcached-agent only"
	others := unlike()
	annotate := func(key, value string) attempt {
		return changedInPlace(func(p *corev1.Pod) { p.Annotations[key] = value })
	}
	return []escalation{
		{"change the image of somebody's pod", "podchanges", pods, update(newPod(), changeImage)},
		{"change the image of a pod of another operator", "podchanges", pods, update(others["of another operator"], changeImage)},
		{"change the image of a pod of nobody", "podchanges", owner, update(others["of nobody"], changeImage)},
		{"change the image of a pod of a Deployment", "podchanges", owner, update(others["of a Deployment"], changeImage)},
		{"change the image of a pod of another StatefulSet", "podchanges", owner, update(others["of another set"], changeImage)},
		{"give a living pod an image that is not on the list", "podimages", "the image registry.example.com/miner:1 is not in the ConfigMap", changedInPlace(func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = "registry.example.com/miner:1"
		})},
		{"give a living agent an image that is not on the list", "podimages", "the image registry.example.com/miner:1 is not in the ConfigMap", changedInPlace(func(p *corev1.Pod) {
			p.Spec.InitContainers[1].Image = "registry.example.com/miner:1"
		})},
		{"change the image of somebody's container in a living pod", "podchanges", containers, changedInPlace(func(p *corev1.Pod) {
			p.Spec.Containers[1].Image = "memcached"
		})},
		{"change the image of the launcher in a living pod", "podchanges", containers, changedInPlace(func(p *corev1.Pod) {
			p.Spec.InitContainers[0].Image = "memcached"
		})},
		{"give a living pod a label", "podchanges", label, changedInPlace(func(p *corev1.Pod) { p.Labels["app"] = "website" })},
		{"change a label of a living pod", "podchanges", label, changedInPlace(func(p *corev1.Pod) { p.Labels["app.kubernetes.io/instance"] = "website" })},
		{"take a label from a living pod", "podchanges", label, changedInPlace(func(p *corev1.Pod) { delete(p.Labels, "app.kubernetes.io/name") })},
		{"annotate a living pod", "podchanges", annotation, annotate("sidecar.istio.io/inject", "true")},
		{"change an annotation of a living pod", "podchanges", annotation, annotate("team", "mine")},
		{"take an annotation from a living pod", "podchanges", annotation, changedInPlace(func(p *corev1.Pod) { delete(p.Annotations, "team") })},
		{"give a living pod another base", "podchanges", annotation, annotate("cache.example.com/template-base", "0")},
		{"store text in a living pod", "podchanges", annotation, annotate("cache.example.com/template", "a text")},
		{"store much text in a living pod", "podchanges", annotation, annotate("cache.example.com/in-place", strings.Repeat("a", 4097))},
		{"take a living pod from its StatefulSet", "podchanges", owners, changedInPlace(func(p *corev1.Pod) { p.OwnerReferences = nil })},
		{"give a living pod another owner", "podchanges", owners, changedInPlace(func(p *corev1.Pod) {
			p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "stays", UID: "stays"})
		})},
		{"keep a living pod from its end", "podchanges", owners, changedInPlace(func(p *corev1.Pod) { p.Finalizers = []string{"example.com/stays"} })},
		{"let a living pod tolerate a taint", "podchanges", spec, changedInPlace(func(p *corev1.Pod) {
			p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: "lost", Operator: corev1.TolerationOpExists})
		})},
		{"end a living pod", "podchanges", spec, changedInPlace(func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To(int64(1)) })},
		{"let a pod be scheduled", "podchanges", spec, changedInPlace(func(p *corev1.Pod) { p.Spec.SchedulingGates = nil })},
		{"choose a cluster node for a pod", "podchanges", spec, changedInPlace(func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"a": "b"} })},
	}
}

func resizeEscalations() []escalation {
	return []escalation{{
		"resize somebody's container in a living pod", "podchanges",
		"spec.containers, initContainers: the operator changes memcached and memcached-agent only", resized(1, "60Mi"),
	}}
}

// podChanges are permitted attempts that change living pods as the operator does.
func podChanges() map[string]attempt {
	return map[string]attempt{
		"change the images of a living pod": changedInPlace(func(p *corev1.Pod) {
			changeImage(p)
			p.Spec.InitContainers[1].Image = "example.com/memcached-operator-agent:v1.1.0"
			p.Annotations["cache.example.com/in-place"] = `{"template":"` + hash + `"}`
		}),
		"let a StatefulSet count a living pod": changedInPlace(func(p *corev1.Pod) {
			p.Labels["controller-revision-hash"] = "living-2"
			p.Annotations["cache.example.com/template"] = "2123456789abcdef"
		}),
		"wake the kubelet of a living pod": changedInPlace(func(p *corev1.Pod) { p.Annotations["cache.example.com/arguments"] = hash }),
	}
}
