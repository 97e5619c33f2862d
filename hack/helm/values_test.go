// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// Helm must refuse invalid values before it installs anything. The message must name the value.
func TestWrongValuesAreRefused(t *testing.T) {
	chart := chartFor(t, tested(t))
	for values, words := range map[string]string{
		"replica: 3":                          "additional properties 'replica' not allowed",
		"image: {name: a}":                    "at '/image': additional properties 'name' not allowed",
		"image: example.com/a:v1":             "at '/image': got string, want object",
		"image: {digest: abc}":                "at '/image/digest': 'abc' does not match pattern",
		"image: {tag: 'a:b'}":                 "at '/image/tag'",
		"image: {pullPolicy: always}":         "at '/image/pullPolicy': value must be one of '', 'Always', 'IfNotPresent', 'Never'",
		"image: {pullSecrets: [key]}":         "at '/image/pullSecrets/0': got string, want object",
		"image: {repository: ''}":             "at '/image/repository'",
		"image: null":                         "missing property 'image'",
		"agentImage: ''":                      "at '/agentImage'",
		"memcachedImage: ''":                  "at '/memcachedImage'",
		"monitoring: {period: 30s}":           "additional properties 'period' not allowed",
		"monitoring: {interval: 30}":          "at '/monitoring/interval': got number, want string",
		"podLabels: {control-plane: mine}":    "at '/podLabels/control-plane'",
		"commonLabels: {helm.sh/chart: mine}": "at '/commonLabels/helm.sh~1chart'",
		"commonLabels: {rbac.authorization.k8s.io/aggregate-to-admin: 'true'}": "at '/commonLabels/rbac.authorization.k8s.io~1aggregate-to-admin'",
		"commonLabels: {a: 1}":                                     "at '/commonLabels/a': got number, want string",
		"podAnnotations: {a: true}":                                "at '/podAnnotations/a': got boolean, want string",
		"updateStrategy: Recreate":                                 "at '/updateStrategy': got string, want object",
		"serviceAccount: {name: A}":                                "at '/serviceAccount/name'",
		"serviceAccount: {create: false}":                          "serviceAccount.name is empty",
		"watchNamespaces: shop":                                    "at '/watchNamespaces': got string, want array",
		"{watchNamespaces: [a], namespaced: true}":                 "set one of the two",
		"replicas: '1'":                                            "at '/replicas': got string, want integer",
		"replicas: -1":                                             "at '/replicas'",
		"namespaced: 'yes'":                                        "at '/namespaced': got string, want boolean",
		"metrics: true":                                            "at '/metrics': got boolean, want object",
		"crds: {keep: true}":                                       "at '/crds': additional properties 'keep' not allowed",
		"admissionPolicy: {enabled: 'no'}":                         "at '/admissionPolicy/enabled': got string, want boolean",
		"extraArgs: --v=1":                                         "at '/extraArgs': got string, want array",
		"extraArgs: [v=1]":                                         "at '/extraArgs/0'",
		"resources: {memory: 1Gi}":                                 "at '/resources': additional properties 'memory' not allowed",
		"resources: {limits: {memory: []}}":                        "at '/resources/limits/memory'",
		"goMemoryLimit: 360Mi":                                     "at '/goMemoryLimit'",
		"nodeSelector: {ssd: true}":                                "at '/nodeSelector/ssd': got boolean, want string",
		"affinity: {nodes: {}}":                                    "at '/affinity': additional properties 'nodes' not allowed",
		"tolerations: {key: a}":                                    "at '/tolerations': got object, want array",
		"priorityClassName: 1":                                     "at '/priorityClassName': got number, want string",
		"fullnameOverride: Shop":                                   "at '/fullnameOverride'",
		"fullnameOverride: " + strings.Repeat("a", 29):             "at '/fullnameOverride'",
		"{monitoring: {enabled: true}, metrics: {enabled: false}}": "monitoring.enabled is true, but metrics.enabled is false",
		"{monitoring: {enabled: true}, namespaced: true}":          "an operator of a single namespace (namespaced: true) serves no metrics",
	} {
		t.Run(values, func(t *testing.T) {
			if _, err := installed(t, chart, "memcached-operator", namespace, values); err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("got %v, want an error with the words %q", err, words)
			}
		})
	}
}

// Every value must have a comment and be in the schema. Apart from global and the fields of Kubernetes types, the schema must not
// contain other values.
func TestEveryValueIsDescribed(t *testing.T) {
	files := filesFor(t, tested(t))
	values, err := valuesIn(files["values.yaml"])
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"global": true}
	for _, v := range values {
		name := strings.Join(v.path, ".")
		known[name] = true
		if !strings.HasSuffix(v.meaning, ".") {
			t.Errorf("%s has the comment %q, which is no sentence", name, v.meaning)
		}
	}
	schema := object{}
	if err := json.Unmarshal(files["values.schema.json"], &schema); err != nil {
		t.Fatal(err)
	}
	for name, property := range schema["properties"].(object) {
		if !known[name] {
			t.Errorf("values.yaml lacks %s, which the schema has", name)
		}
		members, _ := property.(object)["properties"].(object)
		for member := range members {
			if isGroup := known[name+"."+member]; !isGroup && name != "affinity" && name != "resources" && name != "updateStrategy" {
				t.Errorf("values.yaml lacks %s.%s, which the schema has", name, member)
			}
		}
		if description, _ := property.(object)["description"].(string); description == "" {
			t.Errorf("the schema does not describe %s", name)
		}
	}
	if _, err := describe(files["values.schema.json"], []byte("# New.\nnew: 1\n")); err == nil {
		t.Error("a value that the schema lacks was not found")
	}
}

// The chart contains the README, but not the other files of the repository. So the README must not link to files by relative paths.
func TestReadmeStandsAlone(t *testing.T) {
	files := filesFor(t, tested(t))
	readme := string(files["README.md"])
	if !strings.HasPrefix(readme, "# ") || strings.Contains(readme, "<!--") {
		t.Errorf("the README begins with %.40q, or has comments", readme)
	}
	for _, found := range link.FindAllString(readme, -1) {
		t.Errorf("the README links to a file that its readers do not have: %s", found)
	}
	if !strings.Contains(readme, "/blob/v"+tested(t).version+"/docs/operations/install.md") {
		t.Error("the README does not link to the version's page about installations")
	}
}

func TestNotesLeadToACache(t *testing.T) {
	chart := chartFor(t, tested(t))
	const unknown = "the cluster does not know the Memcached resource"
	for values, want := range map[string]struct {
		says, not []string
	}{
		"": {
			says: []string{"in the namespace caches and serves all namespaces.", "--watch --all-namespaces"},
			not:  []string{unknown, "--namespace caches"},
		},
		"namespaced: true": {
			says: []string{"serves this namespace only.", unknown, "kubectl apply --namespace caches", "--watch --namespace caches"},
		},
		"watchNamespaces: [shop, blog]": {
			says: []string{"serves these namespaces only: shop, blog.", "kubectl apply --namespace shop", "--watch --namespace shop"},
			not:  []string{unknown},
		},
		"crds: {enabled: false}": {says: []string{unknown}},
	} {
		files, err := installed(t, chart, "memcached-operator", "caches", values)
		if err != nil {
			t.Fatal(err)
		}
		notes := files["memcached-operator/templates/NOTES.txt"]
		for _, words := range want.says {
			if !strings.Contains(notes, words) {
				t.Errorf("%s: the notes lack %q:\n%s", values, words, notes)
			}
		}
		for _, words := range want.not {
			if strings.Contains(notes, words) {
				t.Errorf("%s: the notes contain %q:\n%s", values, words, notes)
			}
		}
		_, manifest, _ := strings.Cut(notes, "echo '")
		manifest, _, _ = strings.Cut(manifest, "'")
		var sample object
		if err := yaml.Unmarshal([]byte(manifest), &sample); err != nil || sample["kind"] != "Memcached" {
			t.Errorf("%s: the notes apply %q: %v", values, manifest, err)
		}
	}
}
