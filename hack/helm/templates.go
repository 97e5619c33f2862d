// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// Names in config that become expressions, because they depend on the Helm release.
const (
	namespace  = "memcached-operator-system"
	namePrefix = "memcached-operator-"
	// account is the ServiceAccount of the operator. The Deployment has the same name, but no object refers to the Deployment, so each
	// reference to this name means the ServiceAccount.
	account = namePrefix + "controller-manager"
)

// Marks are placeholders for expressions. With marks, the manifests are still valid YAML. nameMark is followed by the rest of an object's
// name, and valueMark by the name of a value.
const (
	namespaceMark = "CHART.namespace"
	nameMark      = "CHART.name-"
	accountMark   = "CHART.account"
	labelsMark    = "CHART.labels"
	valueMark     = "CHART.value."
	// monitorLabelsMark stands for the labels that all objects have, and those in the value monitoring.labels.
	monitorLabelsMark = "CHART.monitorLabels"
)

// managedBy is a label to which config and Helm give different values.
const managedBy = "app.kubernetes.io/managed-by"

// templates returns the text of the chart's generated templates by file name, and the defaults of the chart's values.
func templates(root string) (map[string]string, map[string]any, error) {
	b, err := newBuilder(root)
	if err != nil {
		return nil, nil, err
	}
	whole, err := b.build(complete, uncomment)
	if err != nil {
		return nil, nil, err
	}
	marker := newMarker(whole)
	var keys []string
	for _, manifest := range whole {
		keys = append(keys, keyOf(manifest))
	}
	manifests, err := marker.mark(whole)
	if err != nil {
		return nil, nil, err
	}
	var others []map[string][]string
	for _, v := range variants {
		objects, err := b.build(v.folder, v.edits)
		if err != nil {
			return nil, nil, err
		}
		other, err := marker.mark(objects)
		if err != nil {
			return nil, nil, err
		}
		for key := range other {
			if manifests[key] == nil {
				return nil, nil, fmt.Errorf("%s has %s, which %s lacks", v.folder, key, complete)
			}
		}
		others = append(others, other)
	}
	return assemble(keys, manifests, others), marker.defaults, nil
}

// assemble makes a template from each manifest. It returns one file for each kind of object. A ClusterRole is in the file of the Roles, and
// a ClusterRoleBinding in the file of the RoleBindings.
func assemble(keys []string, manifests map[string][]string, others []map[string][]string) map[string]string {
	files := map[string]string{}
	for _, key := range keys {
		var same [][]string
		for _, other := range others {
			same = append(same, other[key])
		}
		kind, _, _ := strings.Cut(key, " ")
		text := expressions(merge(manifests[key], same))
		if when := conditions[key]; when != "" {
			text = "{{- if " + when + " }}\n" + text + "{{- end }}\n"
		}
		files["templates/"+strings.ToLower(kind)+".yaml"] += text
	}
	return files
}

// conditions maps the key of a manifest to a condition for the whole manifest.
var conditions = map[string]string{
	"ServiceAccount " + account:                          ".Values.serviceAccount.create",
	"RoleBinding memcached-operator-manager-rolebinding": "not .Values.watchNamespaces", // watchnamespaces.yaml replaces it
}

// keyOf returns a key of kind and name that identifies a manifest in all variants. A ClusterRole has the key of a Role, because it may be a
// Role in another variant.
func keyOf(manifest object) string {
	metadata := manifest["metadata"].(object)
	return strings.TrimPrefix(manifest["kind"].(string), "Cluster") + " " + metadata["name"].(string)
}

// marker replaces parts of manifests by marks.
type marker struct {
	// names are the names of objects that begin with namePrefix.
	names map[string]bool
	// defaults maps the name of each Helm value to the content that its field has in config.
	defaults map[string]any
}

func newMarker(whole []object) *marker {
	m := &marker{names: map[string]bool{}, defaults: map[string]any{}}
	for _, manifest := range whole {
		if name := manifest["metadata"].(object)["name"].(string); strings.HasPrefix(name, namePrefix) {
			m.names[name] = true
		}
	}
	return m
}

// mark replaces parts of the manifests by marks, and returns the lines of each manifest by key.
func (m *marker) mark(objects []object) (map[string][]string, error) {
	manifests := map[string][]string{}
	for _, manifest := range objects {
		key := keyOf(manifest)
		if err := m.markKind(manifest); err != nil {
			return nil, err
		}
		m.markNames(manifest)
		metadata := manifest["metadata"].(object)
		if manifest["kind"] == "Deployment" {
			metadata["name"] = nameMark + strings.TrimPrefix(account, namePrefix)
		}
		labels, _ := metadata["labels"].(object)
		if labels == nil {
			labels = object{}
		}
		delete(labels, managedBy)
		if _, marked := labels[monitorLabelsMark]; !marked {
			labels[labelsMark] = ""
		}
		metadata["labels"] = labels
		text, err := yaml.Marshal(manifest)
		if err != nil {
			return nil, err
		}
		escaped := strings.ReplaceAll(string(text), "{{", `{{ "{{" }}`)
		manifests[key] = append([]string{"---"}, strings.Split(strings.TrimSuffix(escaped, "\n"), "\n")...)
	}
	return manifests, nil
}

// markNames replaces the namespace and the names of objects in a part of a manifest, also in references to other objects. It returns the
// part.
func (m *marker) markNames(value any) any {
	switch value := value.(type) {
	case object:
		for key := range value {
			value[key] = m.markNames(value[key])
		}
	case []any:
		for i := range value {
			value[i] = m.markNames(value[i])
		}
	case string:
		if value == namespace {
			return namespaceMark
		}
		if value == account {
			return accountMark
		}
		if m.names[value] {
			return nameMark + strings.TrimPrefix(value, namePrefix)
		}
	}
	return value
}

// markKind puts marks into those fields of a manifest for which the chart has values.
func (m *marker) markKind(manifest object) error {
	metadata := manifest["metadata"].(object)
	switch {
	case manifest["kind"] == "Deployment":
		return m.markDeployment(manifest["spec"].(object))
	case manifest["kind"] == "ServiceAccount" && metadata["name"] == account:
		m.markValue(metadata, "annotations", "serviceAccount.annotations")
	case manifest["kind"] == "ServiceMonitor":
		metadata["labels"].(object)[monitorLabelsMark] = ""
		endpoint := manifest["spec"].(object)["endpoints"].([]any)[0].(object)
		for _, field := range []string{"interval", "scrapeTimeout", "relabelings", "metricRelabelings"} {
			m.markValue(endpoint, field, "monitoring."+field)
		}
	}
	return nil
}

func (m *marker) markDeployment(spec object) error {
	m.markValue(spec, "replicas", "replicas")
	m.markValue(spec, "strategy", "updateStrategy")
	template := spec["template"].(object)
	template["metadata"].(object)["labels"].(object)[valueMark+"podLabels"] = ""
	template["metadata"].(object)["annotations"].(object)[valueMark+"podAnnotations"] = ""
	pod := template["spec"].(object)
	m.markValue(pod, "topologySpreadConstraints", "topologySpreadConstraints")
	m.markValue(pod, "nodeSelector", "nodeSelector")
	m.markValue(pod, "affinity", "affinity")
	m.markValue(pod, "tolerations", "tolerations")
	m.markValue(pod, "priorityClassName", "priorityClassName")
	m.markValue(pod, "imagePullSecrets", "image.pullSecrets")

	containers := pod["containers"].([]any)
	if len(containers) != 1 {
		return errors.New("the operator's pod does not have one container, for which the chart has values")
	}
	container := containers[0].(object)
	m.markValue(container, "image", "image")
	m.markValue(container, "imagePullPolicy", "image.pullPolicy")
	m.markValue(container, "resources", "resources")
	container["args"] = append(container["args"].([]any), valueMark+"extraArgs")
	for name, value := range map[string]string{
		"RELATED_IMAGE_MEMCACHED": "memcachedImage", "RELATED_IMAGE_MEMCACHED_AGENT": "agentImage", "GOMEMLIMIT": "goMemoryLimit",
	} {
		variable := find(container["env"].([]any), name)
		if variable == nil {
			return fmt.Errorf("the operator has no variable %s, for which the chart has a value", name)
		}
		m.markValue(variable, "value", value)
	}
	// In the variant for a single namespace, the variable has no value to mark: Kubernetes sets it to the namespace of the operator's
	// pod.
	if variable := find(container["env"].([]any), "WATCH_NAMESPACE"); variable["valueFrom"] == nil {
		m.markValue(variable, "value", "watchNamespaces")
	}
	return nil
}

// markValue replaces a field by the mark of a value, and records what the field contained as the default of the value.
func (m *marker) markValue(in object, field, value string) {
	m.defaults[value] = in[field]
	in[field] = valueMark + value
}

func find(list []any, name string) object {
	for _, item := range list {
		if item.(object)["name"] == name {
			return item.(object)
		}
	}
	return nil
}
