// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
	"github.com/example/memcached-operator/test/repository"
)

// peer is one end of a connection: a pod in a namespace, or an address outside of the cluster.
type peer struct {
	namespace string
	labels    labels.Set
	address   string
}

var namespaces = map[string]labels.Set{
	"shop":       {corev1.LabelMetadataName: "shop", "team": "shop"},
	"storefront": {corev1.LabelMetadataName: "storefront", "team": "storefront"},
	"strangers":  {corev1.LabelMetadataName: "strangers"},
}

// clients are all peers that try to connect to the nodes of a Memcached in the namespace "shop".
var clients = map[string]peer{
	"shop/web":         {namespace: "shop", labels: labels.Set{"app": "web"}},
	"shop/batch":       {namespace: "shop", labels: labels.Set{"app": "batch"}},
	"storefront/web":   {namespace: "storefront", labels: labels.Set{"app": "web"}},
	"storefront/batch": {namespace: "storefront", labels: labels.Set{"app": "batch"}},
	"strangers/web":    {namespace: "strangers", labels: labels.Set{"app": "web"}},
	"10.0.0.7":         {address: "10.0.0.7"},
	"10.1.0.7":         {address: "10.1.0.7"},
	"203.0.113.7":      {address: "203.0.113.7"},
	"2001:db8::7":      {address: "2001:db8::7"},
	"2001:db8:1::7":    {address: "2001:db8:1::7"},
}

// TestNetworkPolicyAdmits checks which clients can connect to memcached, not how the policy expresses that.
func TestNetworkPolicyAdmits(t *testing.T) {
	for name, test := range map[string]struct {
		spec string
		want []string
	}{
		"nothing":  {`{}`, slices.Sorted(maps.Keys(clients))},
		"disabled": {`{enabled: false, from: [{podSelector: {}}]}`, slices.Sorted(maps.Keys(clients))},
		"enabled":  {`{enabled: true}`, []string{"shop/batch", "shop/web"}},

		"all pods":      {`{from: [{podSelector: {}}]}`, []string{"shop/batch", "shop/web"}},
		"some pods":     {`{from: [{podSelector: {matchLabels: {app: web}}}]}`, []string{"shop/web"}},
		"pods but some": {`{from: [{podSelector: {matchExpressions: [{key: app, operator: NotIn, values: [web]}]}}]}`, []string{"shop/batch"}},

		"a namespace": {
			`{from: [{namespaceSelector: {matchLabels: {team: storefront}}}]}`, []string{"storefront/batch", "storefront/web"},
		},
		"pods of a namespace": {
			`{from: [{namespaceSelector: {matchLabels: {team: storefront}}, podSelector: {matchLabels: {app: web}}}]}`,
			[]string{"storefront/web"},
		},
		"a namespace, or pods here": {
			`{from: [{namespaceSelector: {matchLabels: {team: storefront}}}, {podSelector: {matchLabels: {app: web}}}]}`,
			[]string{"shop/web", "storefront/batch", "storefront/web"},
		},
		"all namespaces": {
			`{from: [{namespaceSelector: {}}]}`,
			[]string{"shop/batch", "shop/web", "storefront/batch", "storefront/web", "strangers/web"},
		},
		"pods of all namespaces": {
			`{from: [{namespaceSelector: {}, podSelector: {matchLabels: {app: web}}}]}`,
			[]string{"shop/web", "storefront/web", "strangers/web"},
		},
		"all pods of namespaces with a label": {
			`{from: [{namespaceSelector: {matchExpressions: [{key: team, operator: Exists}]}, podSelector: {}}]}`,
			[]string{"shop/batch", "shop/web", "storefront/batch", "storefront/web"},
		},
		"a namespace that is not there": {`{from: [{namespaceSelector: {matchLabels: {team: none}}}]}`, nil},

		"addresses": {`{from: [{ipBlock: {cidr: 10.0.0.0/8}}]}`, []string{"10.0.0.7", "10.1.0.7"}},
		"addresses but some": {
			`{from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]}`, []string{"10.0.0.7"},
		},
		"all addresses but some": {
			`{from: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/16, 203.0.113.0/24]}}]}`, []string{"10.1.0.7"},
		},
		"addresses of IPv6 but some": {
			`{from: [{ipBlock: {cidr: "2001:db8::/32", except: ["2001:db8:1::/48"]}}]}`, []string{"2001:db8::7"},
		},
		"an exception that another entry admits": {
			`{from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}, {ipBlock: {cidr: 10.1.0.0/24}}]}`,
			[]string{"10.0.0.7", "10.1.0.7"},
		},
		"pods or addresses": {
			`{from: [{podSelector: {matchLabels: {app: web}}}, {ipBlock: {cidr: 203.0.113.7/32}}]}`, []string{"203.0.113.7", "shop/web"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			mc := memcachedtest.Cache(3)
			if err := yaml.UnmarshalStrict([]byte(test.spec), &mc.Spec.NetworkPolicy); err != nil {
				t.Fatal(err)
			}
			policies, template := policiesAndPods(t, mc)
			node := peer{namespace: mc.Namespace, labels: template.Labels}
			var got []string
			for _, client := range slices.Sorted(maps.Keys(clients)) {
				if admits(t, policies, node, clients[client], corev1.ProtocolTCP, port) {
					got = append(got, client)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("who may connect (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNetworkPolicyAdmitsToMetrics checks which clients can connect to memcached, and which to the metrics.
func TestNetworkPolicyAdmitsToMetrics(t *testing.T) {
	for name, test := range map[string]struct {
		spec string
		want map[int32][]string
	}{
		"the default": {`{enabled: true}`, map[int32][]string{port: {"shop/batch", "shop/web"}, metricsPort: {"shop/batch", "shop/web"}}},
		"a namespace reads the metrics": {
			`{metricsFrom: [{namespaceSelector: {matchLabels: {team: storefront}}}]}`,
			map[int32][]string{port: {"shop/batch", "shop/web"}, metricsPort: {"storefront/batch", "storefront/web"}},
		},
		"clients read no metrics": {
			`{from: [{ipBlock: {cidr: 10.0.0.0/16}}], metricsFrom: [{podSelector: {matchLabels: {app: batch}}}]}`,
			map[int32][]string{port: {"10.0.0.7"}, metricsPort: {"shop/batch"}},
		},
		"TLS alone, and nobody reads the metrics": {`{enabled: true}`, map[int32][]string{tlsPort: {"shop/batch", "shop/web"}}},
		"TLS alone, and a namespace reads the metrics": {
			`{metricsFrom: [{namespaceSelector: {matchLabels: {team: storefront}}}]}`,
			map[int32][]string{tlsPort: {"shop/batch", "shop/web"}, metricsPort: {"storefront/batch", "storefront/web"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			mc := memcachedtest.Cache(3, monitored)
			if strings.HasPrefix(name, "TLS alone") {
				mc = memcachedtest.Cache(3, encryptedBy("a"))
			}
			if err := yaml.UnmarshalStrict([]byte(test.spec), &mc.Spec.NetworkPolicy); err != nil {
				t.Fatal(err)
			}
			policies, template := policiesAndPods(t, mc)
			node := peer{namespace: mc.Namespace, labels: template.Labels}
			got := map[int32][]string{}
			for _, client := range slices.Sorted(maps.Keys(clients)) {
				for _, number := range []int32{port, tlsPort, metricsPort} {
					if admits(t, policies, node, clients[client], corev1.ProtocolTCP, number) {
						got[number] = append(got[number], client)
					}
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("who may connect (-want +got):\n%s", diff)
			}
		})
	}
}

const (
	metricsPort  = memcached.MetricsPort
	tlsPort      = memcached.TLSPort
	launcherPort = memcached.LauncherPort
)

// operatorPod returns the operator's pod as it is installed, in a namespace whose pods may not connect as clients.
func operatorPod(t *testing.T) peer {
	t.Helper()
	for document := range strings.SplitSeq(repository.Read(t, "config", "manager", "manager.yaml"), "---\n") {
		var deployment appsv1.Deployment
		if err := yaml.Unmarshal([]byte(document), &deployment); err == nil && deployment.Kind == "Deployment" {
			return peer{namespace: "strangers", labels: deployment.Spec.Template.Labels}
		}
	}
	t.Fatal("there is no Deployment of the operator")
	return peer{}
}

func monitored(mc *cachev1alpha1.Memcached) { mc.Spec.Monitoring.Enabled = true }

// TestNetworkPolicyAdmitsToOpenPorts checks to which ports of the nodes a client and the operator can connect. It also checks that
// the policy does not apply to other pods.
func TestNetworkPolicyAdmitsToOpenPorts(t *testing.T) {
	for _, workload := range []string{"Deployment", "StatefulSet", "Deployment with agents", "Deployment with users", "StatefulSet with users"} {
		mc := memcachedtest.Cache(3, func(mc *cachev1alpha1.Memcached) {
			kind, with, _ := strings.Cut(workload, " with ")
			mc.Spec.Workload, mc.Spec.NetworkPolicy.Enabled = cachev1alpha1.WorkloadKind(kind), ptr.To(true)
			mc.Spec.Monitoring.Enabled = with == "agents"
			if with == "users" {
				mc.Spec.Auth = &cachev1alpha1.MemcachedAuth{SecretName: "users"}
			}
		})
		policies, template := policiesAndPods(t, mc)
		node := peer{namespace: mc.Namespace, labels: template.Labels}
		type socket struct {
			protocol corev1.Protocol
			port     int32
		}
		want, got := map[socket]bool{}, map[socket]bool{}
		operators := map[socket]bool{}
		for _, container := range slices.Concat(template.Spec.Containers, template.Spec.InitContainers) {
			for _, open := range container.Ports {
				if open.ContainerPort == launcherPort || open.ContainerPort == metricsPort {
					operators[socket{open.Protocol, open.ContainerPort}] = true
				}
				if open.ContainerPort != launcherPort && (open.ContainerPort != metricsPort || mc.Spec.Monitoring.Enabled) {
					want[socket{open.Protocol, open.ContainerPort}] = true
				}
			}
		}
		if asked := operators[socket{corev1.ProtocolTCP, launcherPort}]; asked != (mc.Spec.Workload == statefulSetKind) {
			t.Errorf("%s: there are launchers: %t", workload, asked)
		}
		gotOperators := map[socket]bool{}
		for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP} {
			for _, number := range []int32{1, 80, 8080, metricsPort, launcherPort, port - 1, port, port + 1, 65535} {
				if admits(t, policies, node, clients["shop/web"], protocol, number) {
					got[socket{protocol, number}] = true
				}
				if admits(t, policies, node, operatorPod(t), protocol, number) {
					gotOperators[socket{protocol, number}] = true
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the open ports (-want +got):\n%s", workload, diff)
		}
		if diff := cmp.Diff(operators, gotOperators); diff != "" {
			t.Errorf("%s: the ports for the operator (-want +got):\n%s", workload, diff)
		}
		for _, isolated := range []peer{{namespace: "shop", labels: labels.Set{"app": "web"}}, {namespace: "strangers", labels: node.labels}} {
			if !admits(t, policies, isolated, clients["203.0.113.7"], corev1.ProtocolTCP, port) {
				t.Errorf("%s: the policy isolates other pods: %v", workload, isolated)
			}
		}
	}
}

func policiesAndPods(t *testing.T, mc *cachev1alpha1.Memcached) ([]*networkingv1.NetworkPolicy, *corev1.PodTemplateSpec) {
	t.Helper()
	objects := objectsOf(t, mc, memcached.Observed{}, memcachedtest.Options)
	var policies []*networkingv1.NetworkPolicy
	for _, object := range objects {
		if policy, ok := object.(*networkingv1.NetworkPolicy); ok {
			policies = append(policies, policy)
		}
	}
	return policies, memcachedtest.View(mc, memcached.Observed{Children: objects}).Workload.Template
}
