// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package largest_test

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/test/largest"
	"github.com/example/memcached-operator/test/manifests"
	"github.com/example/memcached-operator/test/testenv"
)

// excess makes a spec one byte or one element larger than the API server accepts. message is a part of the expected error.
type excess struct {
	message string
	add     func(spec *cachev1alpha1.MemcachedSpec)
}

func excesses() map[string]excess {
	const seconds = "preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm"
	const metadata = "labels and annotations must have at most 16384 bytes together, their keys included: remove or shorten some"
	type spec = cachev1alpha1.MemcachedSpec
	return map[string]excess{
		"image": {"spec.image: Too long: may not be more than 512 bytes", func(s *spec) { s.Image += "0" }},
		"pull secrets": {"spec.imagePullSecrets: Too many: 17: must have at most 16 items", func(s *spec) {
			s.ImagePullSecrets = append(s.ImagePullSecrets, cachev1alpha1.ImagePullSecret{Name: "a"})
		}},
		"pull secret": {"spec.imagePullSecrets[0].name: Too long: may not be more than 253 bytes", func(s *spec) {
			s.ImagePullSecrets[0].Name += "a"
		}},
		"node selector": {"spec.scheduling.nodeSelector must have at most 4096 characters, with 16 more for each pair", func(s *spec) {
			for key := range s.Scheduling.NodeSelector {
				s.Scheduling.NodeSelector[key] += "a"
			}
		}},
		"tolerations": {"spec.scheduling.tolerations: Too many: 17: must have at most 16 items", func(s *spec) {
			s.Scheduling.Tolerations = append(s.Scheduling.Tolerations, cachev1alpha1.Toleration{Key: "a"})
		}},
		"key of a toleration": {"spec.scheduling.tolerations[0].key: Too long: may not be more than 317 bytes", func(s *spec) {
			s.Scheduling.Tolerations[0].Key += "a"
		}},
		"value of a toleration": {"spec.scheduling.tolerations[0].value: Too long: may not be more than 63 bytes", func(s *spec) {
			s.Scheduling.Tolerations[0].Value += "a"
		}},
		"node affinity": {"spec.scheduling.affinity.nodeAffinity must have at most 4096 bytes of keys and values", func(s *spec) {
			s.Scheduling.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[2].Key += "a"
		}},
		"pod affinity": {"spec.scheduling.affinity.podAffinity must have at most 4096 bytes of keys and values", func(s *spec) {
			s.Scheduling.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.MatchLabelKeys[0] += "a"
		}},
		"pod anti-affinity": {"spec.scheduling.affinity.podAntiAffinity must have at most 4096 bytes of keys and values", func(s *spec) {
			s.Scheduling.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.MatchLabelKeys[0] += "a"
		}},
		"value of a selector": {seconds + ".labelSelector.matchExpressions[0].values[0]: Too long: may not be more than 63 bytes", func(s *spec) {
			terms := s.Scheduling.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution
			terms[0].PodAffinityTerm.LabelSelector.MatchExpressions[0].Values[0] += "a"
		}},
		"spread": {"spec.scheduling.topologySpreadConstraints must have at most 4096 bytes of keys and values", func(s *spec) {
			s.Scheduling.TopologySpreadConstraints[0].MatchLabelKeys[0] += "a"
		}},
		"clients": {"spec.networkPolicy.from must have at most 4096 bytes of keys and values in its selectors", func(s *spec) {
			s.NetworkPolicy.From[0].PodSelector.MatchExpressions[1].Key += "a"
		}},
		"clients of the agents": {"spec.networkPolicy.metricsFrom must have at most 4096 bytes of keys and values in its selectors", func(s *spec) {
			s.NetworkPolicy.MetricsFrom[0].PodSelector.MatchExpressions[1].Key += "a"
		}},
		"clients in number": {"spec.networkPolicy.from: Too many: 9: must have at most 8 items", func(s *spec) {
			s.NetworkPolicy.From = append(s.NetworkPolicy.From, s.NetworkPolicy.From[1])
		}},
		"addresses of a client": {"ipBlock.except: Too many: 9: must have at most 8 items", func(s *spec) {
			s.NetworkPolicy.From[1].IPBlock.Except = append(s.NetworkPolicy.From[1].IPBlock.Except, s.NetworkPolicy.From[1].IPBlock.Except[0])
		}},
		"address of a client": {"ipBlock.cidr: Too long: may not be more than 43 bytes", func(s *spec) { s.NetworkPolicy.From[1].IPBlock.CIDR += "0" }},
		"priority class": {"spec.scheduling.priorityClassName: Too long: may not be more than 253 bytes", func(s *spec) {
			s.Scheduling.PriorityClassName += "a"
		}},
		"certificate":         {"spec.tls.secretName: Too long: may not be more than 253 bytes", func(s *spec) { s.TLS.SecretName += "a" }},
		"users":               {"spec.auth.secretName: Too long: may not be more than 253 bytes", func(s *spec) { s.Auth.SecretName += "a" }},
		"annotations of pods": {"spec.podMetadata: Invalid value: " + metadata, func(s *spec) { s.PodMetadata.Annotations["b"] += "a" }},
		"labels of pods":      {"spec.podMetadata: Invalid value: " + metadata, func(s *spec) { s.PodMetadata.Labels["a"] = "" }},
		"annotation of pods": {"spec.podMetadata.annotations.a: Too long: may not be more than 8192 bytes", func(s *spec) {
			s.PodMetadata.Annotations["a"] += "a"
		}},
		"annotations of the Service": {"spec.service: Invalid value: " + metadata, func(s *spec) { s.Service.Annotations["b"] += "a" }},
		"labels of the Service":      {"spec.service: Invalid value: " + metadata, func(s *spec) { s.Service.Labels["a"] = "" }},
		// The limit counts bytes, not characters.
		"annotations in another script": {metadata, func(s *spec) {
			s.PodMetadata.Annotations["b"] = "é" + s.PodMetadata.Annotations["b"][1:]
		}},
	}
}

// TestTheAPIAcceptsExactlyTheLargest checks that the API server accepts the largest Memcached and the objects that the operator
// creates for it, but not one byte or element more.
func TestTheAPIAcceptsExactlyTheLargest(t *testing.T) {
	g := NewWithT(t)
	started := manifests.Start(t, func(environment *envtest.Environment) {
		environment.CRDDirectoryPaths = testenv.New().CRDDirectoryPaths
	})
	c := started.Admin
	minor, err := testenv.MinorOf(started.Config)
	g.Expect(err).NotTo(HaveOccurred())
	mc := largest.Memcached(metav1.NamespaceDefault, "largest")
	g.Expect(c.Create(t.Context(), mc)).To(Succeed())
	wanted := desired.For(memcached.NewView(mc, memcached.Observed{}, time.Now()), memcached.Options{DefaultImage: "memcached:1.6.45", AgentImage: "memcached-operator:1"})
	g.Expect(wanted.Problem).To(BeNil())
	for _, child := range wanted.Objects {
		g.Expect(c.Create(t.Context(), child, client.DryRunAll)).To(Succeed())
	}
	for name, excess := range excesses() {
		t.Run(name, func(t *testing.T) {
			more := largest.Memcached(metav1.NamespaceDefault, "more")
			excess.add(&more.Spec)
			NewWithT(t).Expect(c.Create(t.Context(), more, client.DryRunAll)).
				To(MatchError(WithTransform(minor.Words, ContainSubstring(minor.Words(excess.message)))))
		})
	}
	t.Run("annotations", func(t *testing.T) {
		more := largest.Memcached(metav1.NamespaceDefault, "more")
		more.Annotations["a"] += "a"
		NewWithT(t).Expect(c.Create(t.Context(), more, client.DryRunAll)).To(MatchError(ContainSubstring("metadata.annotations: Too long")))
	})
}

// docs/operations/security.md documents this limit.
func TestASpecHasAtMost81000Bytes(t *testing.T) {
	text, err := json.Marshal(largest.Memcached("shop", "cache").Spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(text))
	if len(text) > 81000 || len(text) < 75000 {
		t.Errorf("%d bytes", len(text))
	}
}
