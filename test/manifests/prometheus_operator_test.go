// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/crd"
	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/repository"
)

// prometheusOperator are the schemas of its Kinds that config/monitoring has objects of.
func prometheusOperator(t *testing.T) map[string]*crd.Schema {
	t.Helper()
	schemas := map[string]*crd.Schema{}
	for _, file := range []string{"podmonitors", "prometheusrules", "servicemonitors"} {
		definition, err := crd.Read(repository.Path("hack", "monitoring", "testdata", "monitoring.coreos.com_"+file+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		schema, err := crd.NewSchema(definition)
		if err != nil {
			t.Fatal(err)
		}
		if version := definition.Spec.Versions[0]; version.Name != "v1" || !version.Storage {
			t.Errorf("the first version of %s is %s", definition.Name, version.Name)
		}
		schemas[definition.Spec.Names.Kind] = schema
	}
	return schemas
}

// monitors are the objects of the Prometheus operator, as JSON by Kind.
func monitors(t *testing.T) map[string]string {
	t.Helper()
	byKind := map[string]string{}
	for _, object := range kustomize.Render(t, config("monitoring")) {
		if object.GetAPIVersion() != "monitoring.coreos.com/v1" {
			continue
		}
		content, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		byKind[object.GetKind()] = string(content)
	}
	return byKind
}

func TestThePrometheusOperatorAcceptsItsObjects(t *testing.T) {
	schemas, objects := prometheusOperator(t), monitors(t)
	if len(objects) != len(schemas) {
		t.Errorf("there are objects of %d Kinds and schemas of %d", len(objects), len(schemas))
	}
	for kind, object := range objects {
		if schema := schemas[kind]; schema == nil {
			t.Errorf("there is no schema of %s", kind)
		} else if err := schema.Validate([]byte(object)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// A schema that accepts everything proves nothing.
func TestThePrometheusOperatorRefusesMistakes(t *testing.T) {
	schemas, objects := prometheusOperator(t), monitors(t)
	for _, mistake := range []struct{ kind, right, wrong, want string }{
		{"PodMonitor", `"scrapeTimeout":"10s"`, `"scrapeTimeout":"10 s"`, "scrapeTimeout"},
		{"PodMonitor", `"relabelings":`, `"relabelConfigs":`, "unknown fields: spec.podMetricsEndpoints[0].relabelConfigs"},
		{"PodMonitor", `"any":true`, `"any":"true"`, "boolean"},
		{"PrometheusRule", `"for":"2m"`, `"for":"2 minutes"`, "for"},
		{"PrometheusRule", `"expr":`, `"expression":`, "unknown fields"},
		{"PrometheusRule", `"severity":"critical"`, `"severity":1`, "severity"},
		{"ServiceMonitor", `"scheme":"https"`, `"scheme":"tls"`, "scheme"},
	} {
		object := strings.Replace(objects[mistake.kind], mistake.right, mistake.wrong, 1)
		if object == objects[mistake.kind] {
			t.Errorf("the %s has no %s", mistake.kind, mistake.right)
			continue
		}
		if err := schemas[mistake.kind].Validate([]byte(object)); err == nil || !strings.Contains(err.Error(), mistake.want) {
			t.Errorf("%s with %s: got %v, want %q", mistake.kind, mistake.wrong, err, mistake.want)
		}
	}
}
