// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package largest creates a Memcached that is about as large as the API server accepts. Tests and benchmarks use it to show what a
// malicious user can do with many such Memcacheds.
package largest

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Limits of Kubernetes in bytes: the key and the value of a label, the name of an object, and all annotations of an object.
const (
	keyLength         = 317
	valueLength       = 63
	nameLength        = 253
	annotationsLength = 256 << 10
)

// Limits of the Memcached API, in bytes or in numbers of elements. The limit schedulingLength adds the constant extra for each pair of key
// and value, and for each single key or value, because each of them needs more memory than its text.
const (
	imageLength           = 512
	schedulingLength      = 4096
	extra                 = 16
	metadataLength        = 16384
	annotationValueLength = 8192
	pullSecrets           = 16
	tolerations           = 16
	peerCount             = 8
	exceptions            = 8
)

// Memcached returns a Memcached with the largest accepted annotations. All long fields of its spec that can be set together have the
// largest accepted values. The objects that the operator creates for it are valid, too. The Memcached has no labels, finalizers or
// owner references: their number and length have no limit but the size of a request.
func Memcached(namespace, name string) *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   namespace,
			Name:        name,
			Annotations: map[string]string{"a": text("", annotationsLength-1)},
		},
		Spec: cachev1alpha1.MemcachedSpec{
			Size:             0, // no test or benchmark needs pods
			Image:            image(),
			ImagePullSecrets: secrets(),
			Resources:        cachev1alpha1.MemcachedResources{Limits: resources(), Requests: resources()},
			Scheduling: cachev1alpha1.MemcachedScheduling{
				NodeSelector: nodeSelector(),
				Tolerations:  tolerated(),
				Affinity: &cachev1alpha1.Affinity{
					NodeAffinity: nodeAffinity(), PodAffinity: podAffinity(), PodAntiAffinity: podAffinity(),
				},
				TopologySpreadConstraints: spread(),
				PriorityClassName:         text("a", nameLength),
			},
			NetworkPolicy: cachev1alpha1.MemcachedNetworkPolicy{From: peers(), MetricsFrom: peers()},
			TLS: &cachev1alpha1.MemcachedTLS{
				SecretName: text("t", nameLength), ClientAuth: cachev1alpha1.ClientAuthRequire,
				MinVersion: cachev1alpha1.TLSVersion13, Plaintext: cachev1alpha1.PlaintextDisabled,
			},
			Auth:        &cachev1alpha1.MemcachedAuth{SecretName: text("u", nameLength)},
			PodMetadata: metadata(),
			Service: cachev1alpha1.MemcachedService{
				Metadata: metadata(), IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicySingleStack),
			},
			RestartedAt: ptr.To(metav1.Unix(0, 0)),
		},
	}
}

func text(start string, length int) string { return start + strings.Repeat("a", length-len(start)) }

// key returns a label key of the maximum length. Different numbers give different keys.
func key(number int) string {
	return text(fmt.Sprintf("k%d-", number), nameLength) + "/" + text("", keyLength-nameLength-1)
}

func image() string {
	const domain, digest = "r.example.com/", "@sha512:"
	repository, hexadecimal := text("", 247), strings.Repeat("0", 128)
	tag := text("", imageLength-len(domain)-len(repository)-len(":")-len(digest)-len(hexadecimal))
	return domain + repository + ":" + tag + digest + hexadecimal
}

func secrets() []cachev1alpha1.ImagePullSecret {
	all := make([]cachev1alpha1.ImagePullSecret, pullSecrets)
	for i := range all {
		all[i].Name = text(fmt.Sprintf("s%d-", i), nameLength)
	}
	return all
}

func resources() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("1"),
		corev1.ResourceMemory:           resource.MustParse("1Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Gi"),
	}
}

// nodeSelector returns 10 labels with keys and values of the maximum length, and one that uses up the rest of schedulingLength.
func nodeSelector() map[string]string {
	selector := map[string]string{}
	for i := range 10 {
		selector[key(i)] = text("", valueLength)
	}
	left := schedulingLength - 10*(keyLength+valueLength+extra) - extra
	selector[text("", valueLength)] = text("", left-valueLength)
	return selector
}

func tolerated() []cachev1alpha1.Toleration {
	all := make([]cachev1alpha1.Toleration, tolerations)
	for i := range all {
		all[i] = cachev1alpha1.Toleration{
			Key: key(i), Operator: corev1.TolerationOpEqual, Value: text("", valueLength), Effect: corev1.TaintEffectNoExecute,
			TolerationSeconds: ptr.To(int64(300)),
		}
	}
	return all
}

func values(count int) []string {
	all := make([]string, count)
	for i := range all {
		all[i] = text("", valueLength)
	}
	return all
}

func nodeAffinity() *cachev1alpha1.NodeAffinity {
	left := schedulingLength - 2*(keyLength+extra) - 43*(valueLength+extra) - extra
	return &cachev1alpha1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &cachev1alpha1.NodeSelector{
		NodeSelectorTerms: []cachev1alpha1.NodeSelectorTerm{{MatchExpressions: []cachev1alpha1.NodeSelectorRequirement{
			{Key: key(0), Operator: corev1.NodeSelectorOpIn, Values: values(32)},
			{Key: key(1), Operator: corev1.NodeSelectorOpIn, Values: values(11)},
			{Key: text("", left), Operator: corev1.NodeSelectorOpExists},
		}}},
	}}
}

// pods returns a pod selector with 8 labels and one expression, all of the maximum length. left is how long one more string in a rule
// may be, if the rule has this selector and the topology key kubernetes.io/hostname.
func pods() (selector *cachev1alpha1.LabelSelector, left int) {
	selector = &cachev1alpha1.LabelSelector{
		MatchLabels: map[string]cachev1alpha1.LabelValue{},
		MatchExpressions: []cachev1alpha1.LabelSelectorRequirement{
			{Key: key(8), Operator: metav1.LabelSelectorOpIn, Values: values(7)},
		},
	}
	for i := range 8 {
		selector.MatchLabels[key(i)] = cachev1alpha1.LabelValue(text("", valueLength))
	}
	used := 8*(keyLength+valueLength+extra) + keyLength + extra + 7*(valueLength+extra)
	return selector, schedulingLength - len(corev1.LabelHostname) - used - extra
}

func podAffinity() *cachev1alpha1.PodAffinity {
	selector, left := pods()
	return &cachev1alpha1.PodAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []cachev1alpha1.WeightedPodTerm{{
			Weight: 1,
			PodAffinityTerm: cachev1alpha1.PodAffinityTerm{
				TopologyKey: corev1.LabelHostname, LabelSelector: selector, MatchLabelKeys: []string{text("", left)},
			},
		}},
	}
}

func spread() []cachev1alpha1.TopologySpreadConstraint {
	selector, left := pods()
	return []cachev1alpha1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: selector, MatchLabelKeys: []string{text("", left)},
	}}
}

// peers returns the largest list of clients: one with a pod selector that uses up schedulingLength, and others with an IP range
// that has the maximum length and the maximum number of exceptions.
func peers() []cachev1alpha1.NetworkPolicyPeer {
	selector, left := pods()
	selector.MatchExpressions = append(selector.MatchExpressions, cachev1alpha1.LabelSelectorRequirement{
		Key: text("", left+len(corev1.LabelHostname)), Operator: metav1.LabelSelectorOpExists,
	})
	all := []cachev1alpha1.NetworkPolicyPeer{{PodSelector: selector}}
	for i := range peerCount - 1 {
		block := &cachev1alpha1.IPBlock{CIDR: fmt.Sprintf("2001:0db8:0000:0000:0000:00%02x:0000:0000/100", i)}
		for e := range exceptions {
			block.Except = append(block.Except, fmt.Sprintf("2001:0db8:0000:0000:0000:00%02x:0000:%04x/128", i, e))
		}
		all = append(all, cachev1alpha1.NetworkPolicyPeer{IPBlock: block})
	}
	return all
}

// metadata returns 16 labels of the maximum length, and two annotations that use up the rest of metadataLength.
func metadata() cachev1alpha1.Metadata {
	labels := map[string]cachev1alpha1.LabelValue{}
	for i := range 16 {
		labels[key(i)] = cachev1alpha1.LabelValue(text("", valueLength))
	}
	left := metadataLength - 16*(keyLength+valueLength) - annotationValueLength - len("a") - len("b")
	return cachev1alpha1.Metadata{Labels: labels, Annotations: map[string]cachev1alpha1.AnnotationValue{
		"a": cachev1alpha1.AnnotationValue(text("", annotationValueLength)),
		"b": cachev1alpha1.AnnotationValue(text("", left)),
	}}
}
