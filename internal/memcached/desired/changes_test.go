// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

type edit = func(*cachev1alpha1.Memcached)

// config changes the configuration.
func config(change func(*cachev1alpha1.MemcachedConfig)) edit {
	return func(mc *cachev1alpha1.Memcached) { change(&mc.Spec.Config) }
}

// encryptedBy asks for TLS with the certificate in a Secret.
func encryptedBy(secret string) edit {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: secret} }
}

// mutual asks for certificates of clients.
func mutual(mc *cachev1alpha1.Memcached) { mc.Spec.TLS.ClientAuth = cachev1alpha1.ClientAuthRequire }

// withPlaintext lets in clients without TLS.
func withPlaintext(mc *cachev1alpha1.Memcached) {
	mc.Spec.TLS.Plaintext = cachev1alpha1.PlaintextEnabled
}

// usersOf asks for users that log in, those of a Secret.
func usersOf(secret string) edit {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.Auth = &cachev1alpha1.MemcachedAuth{SecretName: secret} }
}

// restarting has the agents restart memcached when something is removed from a Secret.
func restarting(mc *cachev1alpha1.Memcached) {
	if mc.Spec.TLS != nil {
		mc.Spec.TLS.Revocation = cachev1alpha1.RevocationRestart
	}
	if mc.Spec.Auth != nil {
		mc.Spec.Auth.Revocation = cachev1alpha1.RevocationRestart
	}
}

// scheduling changes the scheduling.
func scheduling(change func(*cachev1alpha1.MemcachedScheduling)) edit {
	return func(mc *cachev1alpha1.Memcached) { change(&mc.Spec.Scheduling) }
}

// TestChanges has changes of a spec, and what a pause says of them.
func TestChanges(t *testing.T) {
	for name, test := range map[string]struct {
		before []edit
		change edit
		want   string
	}{
		"nothing":           {change: func(*cachev1alpha1.Memcached) {}},
		"size":              {change: memcachedtest.Size(5), want: "size 3 to 5"},
		"size from one":     {before: []edit{memcachedtest.Size(1)}, change: memcachedtest.Size(3), want: "size 1 to 3"},
		"image":             {change: memcachedtest.Image("memcached:2"), want: "image"},
		"no image any more": {before: []edit{memcachedtest.Image("memcached:2")}, change: memcachedtest.Image(""), want: "image"},
		"pull policy":       {change: func(mc *cachev1alpha1.Memcached) { mc.Spec.ImagePullPolicy = corev1.PullAlways }, want: "imagePullPolicy"},
		"pull secrets": {change: func(mc *cachev1alpha1.Memcached) {
			mc.Spec.ImagePullSecrets = []cachev1alpha1.ImagePullSecret{{Name: "a"}}
		}, want: "imagePullSecrets"},
		"memory":        {change: config(func(c *cachev1alpha1.MemcachedConfig) { c.Memory = ptr.To(resource.MustParse("1Gi")) }), want: "config.memory"},
		"connections":   {change: config(func(c *cachev1alpha1.MemcachedConfig) { c.MaxConnections = 5000 }), want: "config.maxConnections"},
		"threads":       {change: config(func(c *cachev1alpha1.MemcachedConfig) { c.Threads = 8 }), want: "config.threads"},
		"monitoring":    {change: monitored, want: "monitoring"},
		"no monitoring": {before: []edit{monitored}, change: func(mc *cachev1alpha1.Memcached) { mc.Spec.Monitoring.Enabled = false }, want: "monitoring"},
		"connections of a monitored cache": {
			before: []edit{monitored}, change: config(func(c *cachev1alpha1.MemcachedConfig) { c.MaxConnections = 5000 }), want: "config.maxConnections",
		},
		"TLS":                              {change: encryptedBy("a"), want: "tls"},
		"no TLS any more":                  {before: []edit{encryptedBy("a")}, change: func(mc *cachev1alpha1.Memcached) { mc.Spec.TLS = nil }, want: "tls"},
		"another certificate":              {before: []edit{encryptedBy("a")}, change: encryptedBy("b"), want: "tls"},
		"certificates of clients":          {before: []edit{encryptedBy("a")}, change: mutual, want: "tls"},
		"plaintext":                        {before: []edit{encryptedBy("a")}, change: withPlaintext, want: "tls"},
		"no plaintext":                     {before: []edit{encryptedBy("a"), withPlaintext}, change: encryptedBy("a"), want: "tls"},
		"users":                            {change: usersOf("a"), want: "auth"},
		"no users any more":                {before: []edit{usersOf("a")}, change: func(mc *cachev1alpha1.Memcached) { mc.Spec.Auth = nil }, want: "auth"},
		"other users":                      {before: []edit{usersOf("a")}, change: usersOf("b"), want: "auth"},
		"restarts for users":               {before: []edit{usersOf("a")}, change: restarting, want: "auth"},
		"no restarts for users":            {before: []edit{usersOf("a"), restarting}, change: usersOf("a"), want: "auth"},
		"restarts for authorities":         {before: []edit{encryptedBy("a"), mutual, usersOf("b")}, change: func(mc *cachev1alpha1.Memcached) { mc.Spec.TLS.Revocation = cachev1alpha1.RevocationRestart }, want: "tls"},
		"restarts for both":                {before: []edit{encryptedBy("a"), mutual, usersOf("b")}, change: restarting, want: "tls, auth"},
		"restarts without authorities":     {before: []edit{encryptedBy("a")}, change: restarting},
		"TLS of a monitored cache":         {before: []edit{monitored}, change: encryptedBy("a"), want: "tls"},
		"monitoring of a cache with users": {before: []edit{usersOf("a")}, change: monitored},
		"everything with an agent": {change: func(mc *cachev1alpha1.Memcached) {
			monitored(mc)
			encryptedBy("a")(mc)
			usersOf("b")(mc)
		}, want: "monitoring, tls, auth"},
		"connections of a cache with TLS": {
			before: []edit{encryptedBy("a"), usersOf("b")},
			change: config(func(c *cachev1alpha1.MemcachedConfig) { c.MaxConnections = 5000 }), want: "config.maxConnections",
		},
		"an idle timeout with TLS": {
			before: []edit{encryptedBy("a")},
			change: config(func(c *cachev1alpha1.MemcachedConfig) { c.IdleTimeout = &metav1.Duration{Duration: time.Minute} }), want: "config.idleTimeout",
		},
		"threads, connections": {change: config(func(c *cachev1alpha1.MemcachedConfig) { c.Threads, c.MaxConnections = 8, 99 }), want: "config.maxConnections, config.threads"},
		"maxItemSize":          {change: config(func(c *cachev1alpha1.MemcachedConfig) { c.MaxItemSize = ptr.To(resource.MustParse("2Mi")) }), want: "config.maxItemSize"},
		"idle timeout":         {change: config(func(c *cachev1alpha1.MemcachedConfig) { c.IdleTimeout = &metav1.Duration{Duration: time.Minute} }), want: "config.idleTimeout"},
		"verbosity":            {change: config(func(c *cachev1alpha1.MemcachedConfig) { c.Verbosity = 1 }), want: "config.verbosity"},
		"flush_all":            {change: config(func(c *cachev1alpha1.MemcachedConfig) { c.FlushAll = ptr.To(false) }), want: "config.flushAll"},
		"listing of keys":      {change: config(func(c *cachev1alpha1.MemcachedConfig) { c.Dump = ptr.To(true) }), want: "config.dump"},
		"CPU limit":            {change: withLimit(corev1.ResourceCPU, "2"), want: "resources"},
		"memory limit":         {change: withLimit(corev1.ResourceMemory, "2Gi"), want: "resources"},
		"no memory limit":      {before: []edit{withLimit(corev1.ResourceMemory, "2Gi")}, change: func(mc *cachev1alpha1.Memcached) { mc.Spec.Resources = cachev1alpha1.MemcachedResources{} }, want: "resources"},
		"node selector":        {change: scheduling(func(s *cachev1alpha1.MemcachedScheduling) { s.NodeSelector = map[string]string{"a": "b"} }), want: "scheduling.nodeSelector"},
		"tolerations":          {change: scheduling(func(s *cachev1alpha1.MemcachedScheduling) { s.Tolerations = []cachev1alpha1.Toleration{{Key: "a"}} }), want: "scheduling.tolerations"},
		"affinity": {change: scheduling(func(s *cachev1alpha1.MemcachedScheduling) {
			s.Affinity = &cachev1alpha1.Affinity{NodeAffinity: &cachev1alpha1.NodeAffinity{}}
		}), want: "scheduling.affinity"},
		"spread": {change: scheduling(func(s *cachev1alpha1.MemcachedScheduling) {
			s.TopologySpreadConstraints = []cachev1alpha1.TopologySpreadConstraint{{TopologyKey: "a"}}
		}), want: "scheduling.topologySpreadConstraints"},
		"priority": {change: scheduling(func(s *cachev1alpha1.MemcachedScheduling) { s.PriorityClassName = "high" }), want: "scheduling.priorityClassName"},
		"labels": {change: func(mc *cachev1alpha1.Memcached) {
			mc.Spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"a": "b"}
		}, want: "podMetadata"},
		"annotations": {change: func(mc *cachev1alpha1.Memcached) {
			mc.Spec.PodMetadata.Annotations = map[string]cachev1alpha1.AnnotationValue{"a": "b"}
		}, want: "podMetadata"},
		"graceful shutdown":   {change: func(mc *cachev1alpha1.Memcached) { mc.Spec.GracefulShutdown.PreStopDelaySeconds = ptr.To(int32(9)) }, want: "gracefulShutdown"},
		"a restart":           {change: memcachedtest.RestartedAt(2026), want: "restartedAt"},
		"another restart":     {before: []edit{memcachedtest.RestartedAt(2026)}, change: memcachedtest.RestartedAt(2027), want: "restartedAt"},
		"no restart any more": {before: []edit{memcachedtest.RestartedAt(2026)}, change: func(mc *cachev1alpha1.Memcached) { mc.Spec.RestartedAt = nil }},
		"surge":               {change: memcachedtest.MaxSurge(intstr.FromInt32(2)), want: "updateStrategy"},
		"minReadySeconds":     {change: func(mc *cachev1alpha1.Memcached) { mc.Spec.UpdateStrategy.MinReadySeconds = 9 }, want: "updateStrategy"},
		"the Service's labels": {change: func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Service.Labels = map[string]cachev1alpha1.LabelValue{"a": "b"}
		}},
		"much, sizes come first": {change: func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Size, mc.Spec.Image, mc.Spec.Config.Memory = 5, "memcached:2", ptr.To(resource.MustParse("1Gi"))
		}, want: "size 3 to 5, image, config.memory"},
	} {
		t.Run(name, func(t *testing.T) {
			before := memcachedtest.Cache(3, test.before...)
			after := before.DeepCopy()
			test.change(after)
			observed := memcached.Observed{Children: memcachedtest.Children(live(t, before, memcachedtest.Options))}
			if unpaused := For(memcachedtest.View(after, observed), memcachedtest.Options); unpaused.Problem != nil || unpaused.Changes != nil {
				t.Errorf("without a pause: %v, %v", unpaused.Changes, unpaused.Problem)
			}
			after.Spec.Paused = true
			got := For(memcachedtest.View(after, observed), memcachedtest.Options)
			if got.Problem != nil {
				t.Fatal(got.Problem)
			}
			if diff := cmp.Diff(test.want, strings.Join(got.Changes, ", ")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A template that somebody else has changed is no reason to panic.
func TestChangesOfStrangeTemplates(t *testing.T) {
	mc := memcachedtest.Cache(3, memcachedtest.Paused)
	for name, change := range map[string]func(*appsv1.Deployment){
		"no container": func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers = nil },
		"no arguments": func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Args = nil },
		"odd ones": func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Args = []string{"-t", "many", "-o", "x", "-m"}
		},
		"no strategy": func(d *appsv1.Deployment) { d.Spec.Strategy = appsv1.DeploymentStrategy{} },
	} {
		deployment := live(t, mc, memcachedtest.Options)
		change(deployment)
		got := For(memcachedtest.View(mc, memcached.Observed{Children: memcachedtest.Children(deployment)}), memcachedtest.Options)
		if got.Problem != nil || len(got.Changes) == 0 {
			t.Errorf("%s: %v, %v", name, got.Changes, got.Problem)
		}
	}
}
