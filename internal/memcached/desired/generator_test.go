// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/randfill"
)

// generator makes a Memcached from bytes. Each byte is a choice, so a fuzzer that changes a byte changes a field. Most choices are
// valid. Some are at a limit, just beyond a limit, odd or hostile.
type generator struct {
	choices []byte
}

func (g *generator) text() []byte {
	text, err := json.Marshal(map[string]any{
		"apiVersion": "cache.example.com/v1alpha1",
		"kind":       "Memcached",
		"metadata": map[string]any{
			"name":      one(g, "cache", "c", "cache-two", "cache-3", "d", strings.Repeat("c", 63), strings.Repeat("c", 64), "7up"),
			"namespace": one(g, "shop", "kube-system", "n-1"),
			"uid":       "cache-uid",
		},
		"spec": g.spec(),
	})
	if err != nil {
		panic(err)
	}
	return text
}

func (g *generator) spec() map[string]any {
	spec := g.some(map[string]func() any{
		"size":                func() any { return one(g, 0, 1, 2, 3, 5, 100, 1000, 1001, -1) },
		"image":               g.image,
		"imagePullPolicy":     func() any { return one(g, "Always", "IfNotPresent", "Never") },
		"imagePullSecrets":    g.secrets,
		"agent":               func() any { return g.some(map[string]func() any{"resources": g.resources}) },
		"config":              g.config,
		"resources":           g.resources,
		"scheduling":          g.scheduling,
		"podMetadata":         func() any { return g.some(g.metadata()) },
		"service":             g.service,
		"podDisruptionBudget": g.budget,
		"networkPolicy":       g.networkPolicy,
		"tls":                 g.tls,
		"auth": func() any {
			return g.some(map[string]func() any{
				"secretName": func() any { return one(g, "users", "users", "a.b", "c.d", "users", "sessions", "No") },
			}, "secretName")
		},
		"proxy": func() any {
			return g.some(map[string]func() any{
				"size": func() any { return one(g, 0, 1, 2, 1000, 1001) }, "threads": func() any { return g.number(66) }, "resources": g.resources,
			})
		},
		"workload": func() any { return one(g, "StatefulSet", "Deployment", "Deployment", "StatefulSet", "DaemonSet", "") },
		"storage": func() any {
			return g.some(map[string]func() any{"type": func() any { return one(g, "Memory", "Memory", "Memory", "MemoryFile") }})
		},
		"updateStrategy": g.strategy,
		"gracefulShutdown": func() any {
			return map[string]any{"preStopDelaySeconds": one(g, 0, 1, 5, 300, 301)}
		},
		"paused": g.boolean,
		"restartedAt": func() any {
			return one(g, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5+01:00", "2027-01-01T00:00:00Z", "0001-01-01T00:00:01Z", "2026-01-01", "")
		},
	}, "size", "workload")
	if policy, ok := spec["networkPolicy"].(map[string]any); spec["workload"] != "StatefulSet" && g.number(8) > 0 {
		delete(spec, "tls") // the API server refuses these with a Deployment
		delete(spec, "auth")
		delete(spec, "agent")
		delete(spec, "proxy")
		if ok {
			delete(policy, "metricsFrom")
		}
	}
	if spec["proxy"] != nil && g.number(8) > 0 {
		delete(spec, "auth")
	}
	return spec
}

func (g *generator) image() any {
	const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	return one(g, "memcached", "memcached:1.6.45", "localhost:5000/a/b_c/d-e:latest", "r.example.com/memcached@sha256:"+digest,
		"[::1]:5000/memcached:1", "", "Memcached", "memcached latest")
}

func (g *generator) secrets() any {
	secrets := []any{}
	for i := range g.number(4) {
		secrets = append(secrets, map[string]any{"name": fmt.Sprintf("secret-%d.example", i)})
	}
	return secrets
}

func (g *generator) config() any {
	return g.some(map[string]func() any{
		"memory":         func() any { return g.mebibytes(64, 1<<20) },
		"maxConnections": func() any { return one(g, 1, 2, 23, 1024, 40000, 65536, 0, 65537) },
		"threads":        func() any { return 1 + g.number(64) },
		"maxItemSize":    func() any { return one[any](g, "512Ki", "1Mi", "1.5Mi", 524288, "32Mi", "1Gi", "1048576Ki", "1M") },
		"idleTimeout":    func() any { return one(g, "1s", "10m", "1h30m", "720h", "0h1s", "720h1s", "0.5s", "") },
		"flushAll":       g.boolean,
		"dump":           g.boolean,
	})
}

// mebibytes returns a quantity between least and most MiB, in one of the notations for quantities. Some results are odd or invalid.
func (g *generator) mebibytes(least, most int) any {
	amount := min(least<<g.number(14)+g.number(256), most)
	return one[any](g, fmt.Sprintf("%dMi", amount), amount<<20, fmt.Sprint(amount<<20), fmt.Sprintf("%dKi", amount<<10),
		fmt.Sprintf("%g", float64(amount)*(1<<20)), fmt.Sprintf("%.10fGi", float64(amount)/1024), "1e3M", "-1Gi", "1500m")
}

func (g *generator) resources() any {
	list := func() any {
		return g.some(map[string]func() any{
			"cpu": func() any { return one[any](g, "1", "100m", 2, "1.5", "64", "1e3", "0", "999T", "0.0001") },
			// 165Mi is a little less than memcached needs with the default configuration. The lower bound in the schema allows it.
			"memory":            func() any { return one(g, g.mebibytes(110, 1<<22), "165Mi") },
			"ephemeral-storage": func() any { return one[any](g, "1Gi", 0, "5M") },
		})
	}
	return g.some(map[string]func() any{"limits": list, "requests": list})
}

func (g *generator) scheduling() any {
	filler := randfill.NewFromGoFuzz(g.rest()).NilChance(0.3).NumElements(0, 2).Funcs(
		among(corev1.TolerationOpExists, corev1.TolerationOpEqual), among(corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute),
		among(corev1.NodeSelectorOpIn, corev1.NodeSelectorOpGt), among(metav1.LabelSelectorOpIn, metav1.LabelSelectorOpExists),
		among(corev1.DoNotSchedule, corev1.ScheduleAnyway), among(corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore),
	)
	return g.some(map[string]func() any{
		"nodeSelector":              func() any { return g.some(g.strings("disk", "a/b", g.odd())) },
		"tolerations":               func() any { return filled[[]corev1.Toleration](filler) },
		"affinity":                  func() any { return filled[*corev1.Affinity](filler) },
		"topologySpreadConstraints": func() any { return filled[[]corev1.TopologySpreadConstraint](filler) },
		"priorityClassName":         func() any { return one(g, "high", "system-node-critical", "a.b-c", "", "No") },
	})
}

func (g *generator) networkPolicy() any {
	filler := randfill.NewFromGoFuzz(g.rest()).NilChance(0.5).NumElements(0, 2).Funcs(
		among(metav1.LabelSelectorOpIn, metav1.LabelSelectorOpExists),
		func(b *networkingv1.IPBlock, c randfill.Continue) {
			*b = networkingv1.IPBlock{CIDR: []string{"10.0.0.0/8", "2001:db8::/32", "10.0.0.0"}[c.Intn(3)], Except: []string{"10.1.0.0/16"}}
		},
	)
	return g.some(map[string]func() any{
		"from":        func() any { return filled[[]networkingv1.NetworkPolicyPeer](filler) },
		"metricsFrom": func() any { return filled[[]networkingv1.NetworkPolicyPeer](filler) },
	})
}

func (g *generator) metadata() map[string]func() any {
	return map[string]func() any{
		"labels": func() any {
			return g.some(g.strings("team", "example.com/team", "app.kubernetes.io/version", "app.kubernetes.io/name", "pod-template-hash"))
		},
		"annotations": func() any {
			return g.some(g.strings("note", "example.com/note", "seccomp.security.alpha.kubernetes.io/pod",
				"container.apparmor.security.beta.kubernetes.io/memcached", "cache.example.com/asked"))
		},
	}
}

func (g *generator) service() any {
	fields := g.metadata()
	fields["ipFamilyPolicy"] = func() any { return one(g, "SingleStack", "PreferDualStack", "RequireDualStack", "None") }
	return g.some(fields)
}

func (g *generator) budget() any {
	return g.some(map[string]func() any{"enabled": g.boolean, "maxUnavailable": g.share})
}

func (g *generator) tls() any {
	return g.some(map[string]func() any{
		"secretName": func() any { return one(g, "sessions", "sessions", "e.f", "sessions", strings.Repeat("s", 253), "") },
		"clientAuth": func() any { return one(g, "Require", "None", "Require", "None", "Optional") },
		"minVersion": func() any { return one[any](g, "1.2", "1.3", "1.2", "1.3", 1.3) },
		"plaintext":  func() any { return one(g, "Disabled", "Enabled", "Disabled", "Enabled", "") },
	}, "secretName")
}

func (g *generator) strategy() any {
	return g.some(map[string]func() any{
		"maxUnavailable":  g.share,
		"minReadySeconds": func() any { return one(g, 0, 1, 3600, 3601) },
	})
}

func (g *generator) share() any {
	return one[any](g, 0, 1, 2, 1000, "0%", "1%", "25%", "50%", "100%", 1001, "101%", "5")
}

func (g *generator) boolean() any { return g.number(2) == 0 }

func (g *generator) odd() string {
	return one(g, "unconfined", "runtime/default", "localhost/x", "a", "A-1_b.c", "", "true", "ünïcode ☃ \u202e", "$(POD_NAME)", "\x00",
		"a\nb: c", strings.Repeat("x", 63))
}

func (g *generator) strings(keys ...string) map[string]func() any {
	fields := map[string]func() any{}
	for _, key := range keys {
		fields[key] = func() any { return g.odd() }
	}
	return fields
}

// some returns the required fields and some of the other fields.
func (g *generator) some(fields map[string]func() any, required ...string) map[string]any {
	object := map[string]any{}
	for _, name := range required {
		object[name] = fields[name]()
		delete(fields, name)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if g.number(3) == 0 {
			object[name] = fields[name]()
		}
	}
	return object
}

// one returns one of the values. The first values are more likely than the last.
func one[T any](g *generator, values ...T) T {
	return values[min(g.number(len(values)), g.number(len(values)))]
}

// number returns a number from 0 to limit-1.
func (g *generator) number(limit int) int {
	if len(g.choices) == 0 {
		return 0
	}
	choice := g.choices[0]
	g.choices = g.choices[1:]
	return int(choice) % limit
}

// rest takes up to 64 choices as the input of a randfill.Filler.
func (g *generator) rest() []byte {
	taken := g.choices[:min(64, len(g.choices))]
	g.choices = g.choices[len(taken):]
	return binary.LittleEndian.AppendUint64(slices.Clip(taken), 1)
}

func filled[T any](filler *randfill.Filler) T {
	var value T
	filler.Fill(&value)
	return value
}

func among[T any](values ...T) func(*T, randfill.Continue) {
	return func(value *T, c randfill.Continue) { *value = values[c.Intn(len(values))] }
}
