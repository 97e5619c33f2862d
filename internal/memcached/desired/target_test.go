// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
	"github.com/example/memcached-operator/internal/rollout"
)

// TestTarget covers every field of the spec: which values of the target it changes. A field that changes none is about other objects, or
// about how changes are made.
func TestTarget(t *testing.T) {
	at := ptr.To(metav1.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))
	cases := map[string]struct {
		from, change edit
		want         string
	}{
		"Image":                 {change: memcachedtest.Image("memcached:1.7"), want: "Image"},
		"ImagePullPolicy":       {change: inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.ImagePullPolicy = "Always" }), want: "Template"},
		"ImagePullSecrets":      {change: inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "a"}} }), want: "Template"},
		"Config.Memory":         {change: itemMemory("128Mi"), want: "Resources Arguments"},
		"Config.Memory, limit":  {from: withLimit(corev1.ResourceMemory, "1Gi"), change: itemMemory("128Mi"), want: "Arguments"},
		"Config.MaxConnections": {change: connections(1100), want: "Arguments"},
		"Config.Threads":        {change: threadsOf(2), want: "Arguments"},
		"Config.MaxItemSize":    {change: inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.Config.MaxItemSize = ptr.To(resource.MustParse("2Mi")) }), want: "Arguments"},
		"Config.IdleTimeout":    {change: inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.Config.IdleTimeout = &metav1.Duration{Duration: time.Hour} }), want: "Arguments"},
		"Config.FlushAll":       {change: inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.Config.FlushAll = ptr.To(false) }), want: "Arguments"},
		"Config.Dump":           {change: inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.Config.Dump = ptr.To(true) }), want: "Arguments"},
		"Resources, memory":     {change: withLimit(corev1.ResourceMemory, "1Gi"), want: "Resources"},
		"Resources, CPU":        {change: withLimit(corev1.ResourceCPU, "2"), want: "Resources Arguments"},
		"Agent":                 {change: agentResources(`{"limits": {"memory": "64Mi"}}`), want: "Template"},
		"Agent, empty":          {change: agentResources(`{"limits": {}}`)},
		"Scheduling":            {change: inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.Scheduling.PriorityClassName = "high" }), want: "Template"},
		"PodMetadata":           {change: teamLabel, want: "Template"},
		"TLS":                   {change: encryptedBy("a"), want: "Template Arguments"},
		"TLS.SecretName":        {from: encryptedBy("a"), change: encryptedBy("b"), want: "Template Arguments"},
		"TLS.Plaintext":         {from: encryptedBy("a"), change: withPlaintext, want: "Template Arguments"},
		"TLS.ClientAuth":        {from: encryptedBy("a"), change: inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.TLS.ClientAuth = "Require" }), want: "Template Arguments"},
		"TLS.MinVersion":        {from: encryptedBy("a"), change: inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.TLS.MinVersion = "1.3" }), want: "Arguments"},
		"Auth":                  {change: usersOf("a"), want: "Template Arguments"},
		"Auth.SecretName":       {from: usersOf("a"), change: usersOf("b"), want: "Template"},
		"Storage":               {change: inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.Storage.Type = cachev1alpha1.StorageMemoryFile }), want: "Template Arguments"},
		"GracefulShutdown":      {change: inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.GracefulShutdown.PreStopDelaySeconds = ptr.To[int32](9) }), want: "Template"},
		"RestartedAt":           {change: inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.RestartedAt = at }), want: "Arguments"},
		"RestartedAt, zero":     {change: inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.RestartedAt = &metav1.Time{} })},
		"ReplacedAt":            {change: inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.ReplacedAt = at }), want: "Template"},
		"Size":                  {change: memcachedtest.Size(5)},
		"Service": {change: inSpec(func(s *cachev1alpha1.MemcachedSpec) {
			s.Service.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicySingleStack)
		})},
		"PodDisruptionBudget": {change: inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.PodDisruptionBudget.Enabled = ptr.To(false) })},
		"NetworkPolicy":       {change: inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{} })},
		"Proxy":               {change: inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.Proxy = &cachev1alpha1.MemcachedProxy{} })},
		"UpdateStrategy":      {change: inSpec(func(s *cachev1alpha1.MemcachedSpec) { s.UpdateStrategy.PodUpdatePolicy = "InPlaceOrRecreate" })},
		"Paused":              {change: memcachedtest.Paused},
	}
	for name, c := range cases {
		mc := memcachedtest.Cache(3, workloadKind(statefulSetKind))
		all(c.from)(mc)
		before, rendering := targetOf(memcachedtest.View(mc, memcached.Observed{})).Asked, renderedFor(mc)
		c.change(mc)
		after := targetOf(memcachedtest.View(mc, memcached.Observed{})).Asked
		if got := differences(before, after); got != c.want {
			t.Errorf("%s changes %q, not %q", name, got, c.want)
		}
		if other := renderedFor(mc); (other != rendering) != strings.Contains(c.want, "Template") && name != "Resources, CPU" && name != "ReplacedAt" {
			t.Errorf("%s changes %q, and a new pod is different: %t", name, c.want, other != rendering)
		}
	}
	for _, part := range []struct {
		prefix string
		fields reflect.Type
	}{{"", reflect.TypeFor[cachev1alpha1.MemcachedSpec]()}, {"Config.", reflect.TypeFor[cachev1alpha1.MemcachedConfig]()}, {"TLS.", reflect.TypeFor[cachev1alpha1.MemcachedTLS]()}} {
		for field := range part.fields.Fields() {
			name := part.prefix + field.Name
			_, found := cases[name]
			if immutable := name == "Workload" || name == "Copies"; !found && !immutable && name != "Config" && name != "Resources" {
				t.Errorf("what does %s change?", name)
			}
		}
	}
}

// renderedFor returns the hash of the parts of a new pod that only a new pod can have.
func renderedFor(mc *cachev1alpha1.Memcached) string {
	asked, _ := memcached.AskedOf(askedTemplate(mc, 0, memcachedtest.Options, rollout.Target{Asked: rollout.Asked{Template: "any"}}, "").Annotations)
	return asked.Rendering
}

// differences returns the names of the fields that differ.
func differences(a, b rollout.Asked) string {
	var names []string
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if x.Field(i).String() != y.Field(i).String() {
			names = append(names, x.Type().Field(i).Name)
		}
	}
	return strings.Join(names, " ")
}

// TestRestartsAreKept asks for restarts and new pods in all three ways. When the requests are withdrawn, and even when somebody deletes the
// StatefulSet but not its pods, these are still what the spec asks for.
func TestRestartsAreKept(t *testing.T) {
	s := newScene(t, 3)
	asks := func() rollout.Asked { return For(s.view(), memcachedtest.Options).Target.Asked }
	before, at := asks(), ptr.To(metav1.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))
	s.set.Spec.Template.Annotations[memcached.KubectlRestartedAt] = "2026-01-01T00:00:00Z"
	if got := differences(before, asks()); got != "Template" {
		t.Errorf("kubectl rollout restart changes %q", got)
	}
	s.mc.Spec.RestartedAt, s.mc.Spec.ReplacedAt = at, at
	asked := asks()
	s.write() // without the annotation of kubectl
	for ordinal := range s.pods {
		s.replace(ordinal)
	}
	s.mc.Spec.RestartedAt, s.mc.Spec.ReplacedAt = nil, nil
	if got := asks(); got != asked {
		t.Errorf("without the requests: %+v, not %+v", got, asked)
	}
	set := s.set
	s.set = nil
	for i := range s.pods {
		s.pods[i].OwnerReferences = nil
	}
	if got := asks(); got != asked {
		t.Errorf("without the StatefulSet: %+v, not %+v", got, asked)
	}
	s.set, s.pods = set, nil
	if got := asks(); got != asked {
		t.Errorf("without the pods: %+v, not %+v", got, asked)
	}
	s.set.Spec.Template.Annotations, s.pods = nil, nil
	s.set.Spec.Template.Spec.Containers[0].Args = nil
	if got := asks(); got != before {
		t.Errorf("without anything: %+v, not %+v", got, before)
	}
}

// TestMemoryOf compares what memoryOf reads from the arguments of random specs with what these were computed from.
func TestMemoryOf(t *testing.T) {
	compared := 0
	for _, choices := range randomChoices(2000) {
		mc, err := apiServer(t).Store((&generator{choices: choices}).text())
		if err != nil || !memcached.IsStatefulSet(mc) {
			continue
		}
		s, got := sizingOf(mc), memoryOf(argumentList(mc))
		own, _ := s.otherConnections()
		raised := s.connections+own < leastConnections // a smaller -c would be refused
		if got < s.minimum() || got != s.minimum() && !raised {
			t.Errorf("%s uses %d, not %d", argumentList(mc).Arguments, got, s.minimum())
		}
		if !raised {
			compared++
		}
	}
	if compared < 100 {
		t.Errorf("%d specs prove little", compared)
	}
}

func TestEffectOf(t *testing.T) {
	list := func(changes ...edit) protocol.List {
		return argumentList(memcachedtest.Cache(3, append(changes, workloadKind(statefulSetKind))...))
	}
	for name, c := range map[string]struct {
		former, next protocol.List
		want         memcached.Effect
	}{
		"more memory":           {list(), list(itemMemory("128Mi")), memcached.GrowsInPlace},
		"less memory":           {list(itemMemory("128Mi")), list(), memcached.LosesItems},
		"threads":               {list(), list(threadsOf(2)), memcached.LosesItems},
		"threads beside a file": {list(inFile), list(inFile, threadsOf(2)), memcached.KeepsItems},
		"memory in a file":      {list(inFile), list(inFile, itemMemory("256Mi")), memcached.LosesItems},
		"another name for it":   {list(itemMemory("128Mi")), list(itemMemory("134217728")), memcached.NoEffect},
	} {
		if got := effectOf(c.former, c.next); got != c.want {
			t.Errorf("%s: %d, not %d", name, got, c.want)
		}
	}
}
