// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// The chart must install the same objects as the kustomizations in config.
func TestChartInstallsWhatConfigInstalls(t *testing.T) {
	for name, test := range map[string]struct {
		values string
		want   objects
	}{
		"by default": {values: "", want: kustomized(t, "default")},
		"in one namespace": {
			values: "namespaced: true", want: kustomized(t, "namespaced"),
		},
		"in one namespace, whatever else is off": {
			values: "{namespaced: true, metrics: {enabled: false}, crds: {enabled: false}, admissionPolicy: {enabled: false}}",
			want:   kustomized(t, "namespaced"),
		},
		"with everything": {
			values: "{monitoring: {enabled: true}, networkPolicy: {enabled: true}}",
			want:   kustomized(t, "default", "#- ../prometheus\n", "- ../prometheus\n", "#- ../network-policy\n", "- ../network-policy\n"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want.unlabeled(), install(t, test.values).unlabeled()); diff != "" {
				t.Errorf("the chart differs from config (-config +chart):\n%s", diff)
			}
		})
	}
}

// Each value must change only what it describes.
func TestValuesChangeWhatTheySay(t *testing.T) {
	const (
		deployment = "Deployment memcached-operator-controller-manager: spec."
		template   = deployment + "template."
		pod        = template + "spec."
		account    = "ServiceAccount memcached-operator-controller-manager: metadata.annotations "
	)
	before := install(t, "")
	for values, want := range map[string][]string{
		"replicas: 3":                                          {"+ PodDisruptionBudget memcached-operator-controller-manager", deployment + "replicas 1 -> 3"},
		"updateStrategy: {type: Recreate}":                     {deployment + `strategy null -> {"type":"Recreate"}`},
		"podLabels: {team: a}":                                 {template + `metadata.labels.team null -> "a"`},
		"podAnnotations: {a/b: c}":                             {template + `metadata.annotations.a/b null -> "c"`},
		"topologySpreadConstraints: [{a: b}]":                  {pod + `topologySpreadConstraints null -> [{"a":"b"}]`},
		"serviceAccount: {annotations: {a: b}}":                {account + `null -> {"a":"b"}`},
		"podDisruptionBudget: {enabled: false}":                nil,
		"{replicas: 2, podDisruptionBudget: {enabled: false}}": {deployment + "replicas 1 -> 2"},
		"watchNamespaces: [shop]": {
			"+ RoleBinding memcached-operator-manager-watched-rolebinding",
			"- ClusterRoleBinding memcached-operator-manager-rolebinding",
			pod + watched(t, before, "shop"),
		},
		"watchNamespaces: null":                  nil,
		"priorityClassName: high":                {pod + `priorityClassName null -> "high"`},
		"tolerations: [{key: a}]":                {pod + `tolerations null -> [{"key":"a"}]`},
		"nodeSelector: {disk: ssd}":              {pod + `nodeSelector.disk null -> "ssd"`},
		"nodeSelector: {kubernetes.io/os: null}": {pod + `nodeSelector {"kubernetes.io/os":"linux"} -> null`},
		"affinity: {podAffinity: {}}":            {pod + `affinity.podAffinity null -> {}`},
		"image: {pullSecrets: [{name: key}]}":    {pod + `imagePullSecrets null -> [{"name":"key"}]`},
		"crds: {enabled: false}": {
			"- CustomResourceDefinition memcachedproxies.cache.example.com", "- CustomResourceDefinition memcacheds.cache.example.com",
		},
		"networkPolicy: {enabled: true}": {"+ NetworkPolicy memcached-operator-allow-metrics-traffic"},
		"inPlace: {enabled: true}": {
			"+ ClusterRole memcached-operator-in-place", "+ ClusterRoleBinding memcached-operator-in-place",
		},
		"admissionWarnings: {enabled: false}": both("- ", "warnings"),
		"admissionPolicy: {enabled: false}":   both("- ", "writes"),
		"global: {any: thing}":                nil,
		"monitoring: {enabled: true}": {
			"+ ClusterRoleBinding memcached-operator-metrics-reader",
			"+ Secret memcached-operator-metrics-reader-token",
			"+ ServiceAccount memcached-operator-metrics-reader",
			"+ ServiceMonitor memcached-operator-controller-manager-metrics-monitor",
		},
	} {
		t.Run(values, func(t *testing.T) {
			if diff := cmp.Diff(want, changes(before, install(t, values))); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

// watched returns the change of the operator's container that the test expects if the operator watches these namespaces.
func watched(t *testing.T, before objects, namespaces string) string {
	t.Helper()
	spec := before["Deployment memcached-operator-controller-manager"]["spec"].(object)["template"].(object)["spec"].(object)
	containers := inJSONOf(spec["containers"])
	after := strings.Replace(containers, `"name":"WATCH_NAMESPACE","value":""`, `"name":"WATCH_NAMESPACE","value":"`+namespaces+`"`, 1)
	if after == containers {
		t.Fatal("the operator has no variable WATCH_NAMESPACE")
	}
	return "containers " + containers + " -> " + after
}

// Users need these values, for example because kube-prometheus-stack selects ServiceMonitors by a label.
func TestValuesOfTheServiceMonitor(t *testing.T) {
	monitor := "ServiceMonitor memcached-operator-controller-manager-metrics-monitor"
	before := install(t, "monitoring: {enabled: true}")[monitor]
	after := install(t, "monitoring: {enabled: true, labels: {release: stack}, interval: 30s, scrapeTimeout: 5s, relabelings: [{action: drop}], "+
		"metricRelabelings: [{action: keep}]}")[monitor]
	endpoint := func(monitor object) object { return monitor["spec"].(object)["endpoints"].([]any)[0].(object) }
	got := append(fieldChanges("labels:", before["metadata"].(object)["labels"], after["metadata"].(object)["labels"]),
		fieldChanges("endpoint:", endpoint(before), endpoint(after))...)
	want := []string{
		`labels: release null -> "stack"`, `endpoint: interval null -> "30s"`, `endpoint: metricRelabelings null -> [{"action":"keep"}]`,
		`endpoint: relabelings null -> [{"action":"drop"}]`, `endpoint: scrapeTimeout null -> "5s"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes of the ServiceMonitor (-want +got):\n%s", diff)
	}
}

// With watchNamespaces, the operator must have its usual permissions in each of these namespaces, and in no other namespace.
func TestPermissionsInTheWatchedNamespaces(t *testing.T) {
	files, err := installed(t, chartFor(t, tested(t)), "memcached-operator", namespace, "watchNamespaces: [shop, blog]")
	if err != nil {
		t.Fatal(err)
	}
	usual := install(t, "")["ClusterRoleBinding memcached-operator-manager-rolebinding"]
	found := map[string]bool{}
	for part := range strings.SplitSeq(files["memcached-operator/templates/watchnamespaces.yaml"], "\n---\n") {
		var binding object
		if err := yaml.Unmarshal([]byte(part), &binding); err != nil {
			t.Fatal(err)
		}
		if binding == nil {
			continue
		}
		found[binding["metadata"].(object)["namespace"].(string)] = true
		for _, field := range []string{"roleRef", "subjects"} {
			if diff := cmp.Diff(usual[field], binding[field]); diff != "" {
				t.Errorf("%s (-cluster +namespace):\n%s", field, diff)
			}
		}
	}
	if !found["shop"] || !found["blog"] || len(found) != 2 {
		t.Errorf("the operator has permissions in %v", found)
	}
	if !strings.Contains(files["memcached-operator/templates/deployment.yaml"], `value: "blog,shop"`) {
		t.Error("the operator does not watch the namespaces")
	}
}

// both returns the expected lines about the policies with these names and about their bindings. The sign is "- " for missing objects,
// and "+ " for new ones.
func both(sign string, names ...string) []string {
	var all []string
	for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
		for _, name := range names {
			all = append(all, sign+kind+" memcached-operator-"+name)
		}
	}
	return all
}

// Values about the operator's container must change only the fields that they describe.
func TestValuesOfTheContainer(t *testing.T) {
	container := func(all objects) object {
		spec := all["Deployment memcached-operator-controller-manager"]["spec"].(object)["template"].(object)["spec"].(object)
		return spec["containers"].([]any)[0].(object)
	}
	env := func(all objects) objects {
		variables := objects{}
		for _, variable := range container(all)["env"].([]any) {
			variables[variable.(object)["name"].(string)] = variable.(object)
		}
		return variables
	}
	before := install(t, "")
	digest := "sha256:" + strings.Repeat("0f", 32)
	version := tested(t).version
	memcached := env(before)["RELATED_IMAGE_MEMCACHED"]["value"].(string)
	for values, want := range map[string][]string{
		"image: {tag: v9}": {
			`manager: image "example.com/memcached-operator:v` + version + `" -> "example.com/memcached-operator:v9"`,
		},
		"image: {repository: a.b/c, tag: v9, digest: '" + digest + "'}": {
			`manager: image "example.com/memcached-operator:v` + version + `" -> "a.b/c@` + digest + `"`,
		},
		"image: {pullPolicy: Always}":        {`manager: imagePullPolicy null -> "Always"`},
		"resources: {limits: {memory: 1Gi}}": {`manager: resources.limits.memory "512Mi" -> "1Gi"`},
		"resources: null":                    {`manager: resources {"limits":{"memory":"512Mi"},"requests":{"cpu":"10m","memory":"64Mi"}} -> null`},
		"goMemoryLimit: 700MiB":              {`GOMEMLIMIT: value "360MiB" -> "700MiB"`},
		"agentImage: a.b/c-agent:v9": {
			`RELATED_IMAGE_MEMCACHED_AGENT: value "example.com/memcached-operator-agent:v` + version + `" -> "a.b/c-agent:v9"`,
		},
		"memcachedImage: mirror.example.com/m:1.7": {`RELATED_IMAGE_MEMCACHED: value "` + memcached + `" -> "mirror.example.com/m:1.7"`},
		"extraArgs: [--a=b, --c]": {
			`manager: args ["--leader-elect","--health-probe-bind-address=:8081","--metrics-bind-address=:8443"] -> ` +
				`["--leader-elect","--health-probe-bind-address=:8081","--metrics-bind-address=:8443","--a=b","--c"]`,
		},
		"metrics: {enabled: false}": {
			`manager: args ["--leader-elect","--health-probe-bind-address=:8081","--metrics-bind-address=:8443"] -> ` +
				`["--leader-elect","--health-probe-bind-address=:8081","--metrics-bind-address=0"]`,
			`manager: ports [{"containerPort":8081,"name":"health","protocol":"TCP"},{"containerPort":8443,"name":"metrics","protocol":"TCP"}] -> ` +
				`[{"containerPort":8081,"name":"health","protocol":"TCP"}]`,
		},
	} {
		t.Run(values, func(t *testing.T) {
			after := install(t, values)
			oldEnv, newEnv := env(before), env(after)
			got := changes(oldEnv, newEnv)
			was, is := maps.Clone(container(before)), container(after)
			delete(was, "env")
			delete(is, "env")
			got = append(got, fieldChanges("manager:", was, is)...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("changes of the container (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWithoutMetricsNothingServesThem(t *testing.T) {
	want := []string{
		"- ClusterRole memcached-operator-metrics-auth-role",
		"- ClusterRole memcached-operator-metrics-reader",
		"- ClusterRoleBinding memcached-operator-metrics-auth-rolebinding",
		"- Service memcached-operator-controller-manager-metrics-service",
	}
	var got []string
	for _, change := range changes(install(t, ""), install(t, "metrics: {enabled: false}")) {
		if !strings.HasPrefix(change, "Deployment ") {
			got = append(got, change)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// Helm upgrades a CRD in the folder templates, but not one in the folder crds. Because of the annotation helm.sh/resource-policy, helm
// uninstall keeps the CRDs, and thus all Memcacheds.
func TestDefinitionIsUpgradedAndKept(t *testing.T) {
	if found := chartFor(t, tested(t)).CRDObjects(); len(found) > 0 {
		t.Errorf("the chart has %d definitions that Helm would never upgrade", len(found))
	}
	for key, manifest := range install(t, "monitoring: {enabled: true}") {
		annotations, _ := manifest["metadata"].(object)["annotations"].(object)
		if kept := annotations["helm.sh/resource-policy"] == "keep"; kept != (manifest["kind"] == "CustomResourceDefinition") {
			t.Errorf("%s stays after helm uninstall: %t", key, kept)
		}
	}
}
