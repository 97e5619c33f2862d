// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

type portsSeen struct {
	// Service, Container, Policy and Listeners are the client ports in the Service, the pods, the NetworkPolicy and memcached's
	// arguments. Each port is name:number or number.
	Service, Container, Policy, Listeners []string
	// Probes are the ports that the kubelet probes. Asked has the port of memcached's parent in the pods, and then the ports that the
	// NetworkPolicy opens for the operator.
	Probes, Asked []string
	// Servers are the addresses of the servers, and ConfigMap is the content of the ConfigMap that lists them.
	Servers   []string
	ConfigMap map[string]string
	// Budget is the spec of the PodDisruptionBudget, which has no ports.
	Budget policyv1.PodDisruptionBudgetSpec
}

func TestPortsAgree(t *testing.T) {
	const plain, tls = "memcached:11211", "memcached-tls:11212"
	budget := role(memcachedtest.Cache(1)).PodDisruptionBudget(cachev1alpha1.MemcachedPodDisruptionBudget{}).Spec
	for name, test := range map[string]struct {
		change []edit
		want   portsSeen
	}{
		"without TLS": {nil, portsSeen{
			Service: []string{plain}, Container: []string{plain}, Policy: []string{"11211"}, Listeners: []string{"11211"},
			Servers:   []string{"cache-0.cache.shop.svc:11211"},
			ConfigMap: map[string]string{"host": "cache.shop.svc", "port": "11211", "servers": "cache-0.cache.shop.svc:11211"},
		}},
		"with users": {[]edit{usersOf("a")}, portsSeen{
			Service: []string{plain}, Container: []string{plain}, Policy: []string{"11211"}, Listeners: []string{"11211"},
			Servers:   []string{"cache-0.cache.shop.svc:11211"},
			ConfigMap: map[string]string{"host": "cache.shop.svc", "port": "11211", "servers": "cache-0.cache.shop.svc:11211"},
		}},
		"with TLS": {[]edit{encryptedBy("a")}, portsSeen{
			Service: []string{tls}, Container: []string{tls}, Policy: []string{"11212"}, Listeners: []string{"11212"},
			Servers: []string{"cache-0.cache.shop.svc:11212"},
			ConfigMap: map[string]string{
				"host": "cache.shop.svc", "port": "11212", "servers": "cache-0.cache.shop.svc:11212",
				"tlsPort": "11212", "tlsServers": "cache-0.cache.shop.svc:11212",
			},
		}},
		"with TLS and plaintext": {[]edit{encryptedBy("a"), withPlaintext}, portsSeen{
			Service: []string{plain, tls}, Container: []string{plain, tls}, Policy: []string{"11211", "11212"},
			Listeners: []string{"11211", "11212"},
			Servers:   []string{"cache-0.cache.shop.svc:11211"},
			ConfigMap: map[string]string{
				"host": "cache.shop.svc", "port": "11211", "servers": "cache-0.cache.shop.svc:11211",
				"tlsPort": "11212", "tlsServers": "cache-0.cache.shop.svc:11212",
			},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			mc := memcachedtest.Cache(1, append(test.change, workloadKind(statefulSetKind))...)
			mc.Spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{}
			test.want.Budget, test.want.Probes, test.want.Asked = budget, []string{"parent"}, []string{"parent:9151", "9151", "9150"}
			if diff := cmp.Diff(test.want, portsOf(t, mc)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func portsOf(t *testing.T, mc *cachev1alpha1.Memcached) portsSeen {
	t.Helper()
	seen := portsSeen{Servers: memcachedtest.View(mc, memcached.Observed{}).Servers()}
	for _, object := range objectsOf(t, mc, memcached.Observed{}, memcachedtest.Options) {
		switch object := object.(type) {
		case *corev1.Service:
			for _, port := range object.Spec.Ports {
				if port.TargetPort.String() != port.Name {
					t.Errorf("the port %s of the Service leads to %s", port.Name, port.TargetPort.String())
				}
				seen.Service = append(seen.Service, fmt.Sprintf("%s:%d", port.Name, port.Port))
			}
		case *networkingv1.NetworkPolicy:
			for _, port := range object.Spec.Ingress[0].Ports {
				seen.Policy = append(seen.Policy, port.Port.String())
			}
			for _, port := range object.Spec.Ingress[len(object.Spec.Ingress)-1].Ports {
				seen.Asked = append(seen.Asked, port.Port.String())
			}
		case *policyv1.PodDisruptionBudget:
			seen.Budget = object.Spec
		case *corev1.ConfigMap:
			seen.ConfigMap = object.Data
		}
		if template := memcached.PodTemplate(object); template != nil {
			seen.Listeners = listenersOf(t, memcached.FirstList(&corev1.Pod{Spec: template.Spec}).Fields())
			container := template.Spec.Containers[0]
			last := len(container.Ports) - 1
			for _, port := range container.Ports[:last] {
				seen.Container = append(seen.Container, fmt.Sprintf("%s:%d", port.Name, port.ContainerPort))
			}
			seen.Asked = append([]string{fmt.Sprintf("%s:%d", container.Ports[last].Name, container.Ports[last].ContainerPort)}, seen.Asked...)
			for _, probe := range []*corev1.Probe{container.ReadinessProbe, container.StartupProbe} {
				seen.Probes = append(seen.Probes, probe.HTTPGet.Port.String())
			}
			seen.Probes = slices.Compact(seen.Probes)
		}
	}
	return seen
}

// listenersOf returns the ports on which a memcached with these arguments listens for other pods. It also checks that memcached serves
// port 11211 without TLS, at least within the pod, because the agent connects there.
func listenersOf(t *testing.T, args []string) []string {
	t.Helper()
	options := optionsOf(args)
	if options["-l"] == "" {
		return []string{options["-p"]}
	}
	var open []string
	within := false
	for listener := range strings.SplitSeq(options["-l"], ",") {
		listener, plain := strings.CutPrefix(listener, "notls:")
		address, port, _ := strings.Cut(listener, ":")
		if plain != (port == "11211") || options["-Z"] == "" {
			t.Errorf("port %s is without TLS: %v", port, args)
		}
		within = within || port == "11211"
		if address == "*" {
			open = append(open, port)
		}
	}
	if !within {
		t.Errorf("the agent cannot ask memcached: %v", args)
	}
	return open
}
