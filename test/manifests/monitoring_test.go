// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/repository"
)

// podMonitor has the fields of a PodMonitor that the tests read.
type podMonitor struct {
	Spec struct {
		NamespaceSelector   struct{ Any bool }
		Selector            struct{ MatchLabels map[string]string }
		PodMetricsEndpoints []podMetricsEndpoint
	}
}

type podMetricsEndpoint struct {
	Port, Path, ScrapeTimeout string
	HonorLabels               bool
	Relabelings               []struct {
		SourceLabels []string
		TargetLabel  string
	}
}

// The PodMonitors must select the pods of StatefulSets and of proxies, and the port of the agent.
func TestMonitoringScrapesTheAgents(t *testing.T) {
	checkPodMonitor(t, "memcached-operator-nodes", "memcached", monitoredPods(t, "statefulset", "memcached"))
	checkPodMonitor(t, "memcached-operator-proxies", "memcached_proxy", monitoredPods(t, "proxies", "memcached-proxy"))
}

func checkPodMonitor(t *testing.T, name, label string, template corev1.PodTemplateSpec) {
	t.Helper()
	all := kustomize.Render(t, config("monitoring"))
	object := kustomize.Find[unstructured.Unstructured](t, all, "PodMonitor", name)
	content, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var monitor podMonitor
	if err := json.Unmarshal(content, &monitor); err != nil {
		t.Fatal(err)
	}
	if !monitor.Spec.NamespaceSelector.Any {
		t.Error("the PodMonitor does not select all namespaces")
	}
	selected := monitor.Spec.Selector.MatchLabels
	if len(selected) < 2 || !labels.SelectorFromSet(selected).Matches(labels.Set(template.Labels)) {
		t.Errorf("the PodMonitor selects %v, the pods have %v", selected, template.Labels)
	}
	if _, one := selected["app.kubernetes.io/instance"]; one {
		t.Error("the PodMonitor selects the pods of one Memcached")
	}
	endpoint := repository.TheOnly(t, monitor.Spec.PodMetricsEndpoints, "endpoints")
	agents := slices.DeleteFunc(template.Spec.InitContainers, func(c corev1.Container) bool { return c.Name != "memcached-agent" })
	agent := repository.TheOnly(t, agents, "agents")
	if port := repository.TheOnly(t, agent.Ports, "ports of the agent").Name; endpoint.Port != port || endpoint.Path != "/metrics" {
		t.Errorf("the PodMonitor scrapes port %s, path %s; the agent has port %s", endpoint.Port, endpoint.Path, port)
	}
	if endpoint.HonorLabels || endpoint.ScrapeTimeout == "" {
		t.Errorf("the PodMonitor honors labels: %t; its timeout is %q", endpoint.HonorLabels, endpoint.ScrapeTimeout)
	}
	got := map[string]string{}
	for _, relabeling := range endpoint.Relabelings {
		got[relabeling.TargetLabel] = strings.Join(relabeling.SourceLabels, ",")
	}
	want := map[string]string{
		"namespace": "__meta_kubernetes_namespace",
		"pod":       "__meta_kubernetes_pod_name",
		label:       "__meta_kubernetes_pod_label_app_kubernetes_io_instance",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// monitoredPods returns the template of pods with an agent, from a golden file below internal/.
func monitoredPods(t *testing.T, golden, name string) corev1.PodTemplateSpec {
	t.Helper()
	for document := range strings.SplitSeq(repository.Read(t, "internal", "memcached", "desired", "testdata", golden+".golden.yaml"), "\n---\n") {
		var workload appsv1.StatefulSet // the template of a Deployment is at the same place
		if err := yaml.Unmarshal([]byte(document), &workload); err != nil {
			t.Fatal(err)
		}
		if workload.Spec.Template.Labels["app.kubernetes.io/name"] == name {
			return workload.Spec.Template
		}
	}
	t.Fatal("there is no workload with an agent")
	return corev1.PodTemplateSpec{}
}

func TestGrafanaFindsTheDashboards(t *testing.T) {
	all := kustomize.Render(t, config("monitoring"))
	for _, name := range []string{"fleet", "cache"} {
		configMap := kustomize.Find[corev1.ConfigMap](t, all, "ConfigMap", "memcached-operator-"+name+"-dashboard")
		if configMap.Labels["grafana_dashboard"] != "1" || len(configMap.Data) != 1 {
			t.Errorf("%s has the labels %v and %d files", configMap.Name, configMap.Labels, len(configMap.Data))
		}
		var dashboard struct{ UID string }
		if err := json.Unmarshal([]byte(configMap.Data[name+".json"]), &dashboard); err != nil || dashboard.UID != "memcached-"+name {
			t.Errorf("%s: %v, UID %q", configMap.Name, err, dashboard.UID)
		}
	}
}
