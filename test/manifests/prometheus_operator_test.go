// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"testing"

	"github.com/example/memcached-operator/test/crd"
	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/repository"
)

func prometheusOperator(t *testing.T) map[string]*crd.Schema {
	t.Helper()
	var files []string
	for _, plural := range []string{"podmonitors", "prometheusrules", "servicemonitors"} {
		files = append(files, repository.Path("test", "manifests", "testdata", "monitoring.coreos.com_"+plural+".yaml"))
	}
	return schemasIn(t, files...)
}

// monitors returns the objects of the Prometheus operator's Kinds in config/monitoring, as JSON by Kind.
func monitors(t *testing.T) map[string][]string {
	t.Helper()
	byKind := map[string][]string{}
	for _, object := range kustomize.Render(t, config("monitoring")) {
		if object.GetAPIVersion() != "monitoring.coreos.com/v1" {
			continue
		}
		content, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		byKind[object.GetKind()] = append(byKind[object.GetKind()], string(content))
	}
	return byKind
}

func TestThePrometheusOperatorAcceptsItsObjects(t *testing.T) {
	schemas, objects := prometheusOperator(t), monitors(t)
	if len(objects) != len(schemas) {
		t.Errorf("there are objects of %d Kinds and schemas of %d", len(objects), len(schemas))
	}
	for kind, all := range objects {
		schema := schemas[kind]
		if schema == nil {
			t.Errorf("there is no schema of %s", kind)
			continue
		}
		for _, object := range all {
			if err := schema.Validate([]byte(object)); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}
	}
}

func TestThePrometheusOperatorRefusesMistakes(t *testing.T) {
	objects := map[string]string{}
	for kind, all := range monitors(t) {
		objects[kind] = all[0]
	}
	mustRefuse(t, prometheusOperator(t), objects,
		mistake{"PodMonitor", `"scrapeTimeout":"10s"`, `"scrapeTimeout":"10 s"`, "scrapeTimeout"},
		mistake{"PodMonitor", `"relabelings":`, `"relabelConfigs":`, "unknown fields: spec.podMetricsEndpoints[0].relabelConfigs"},
		mistake{"PodMonitor", `"any":true`, `"any":"true"`, "boolean"},
		mistake{"PrometheusRule", `"for":"2m"`, `"for":"2 minutes"`, "for"},
		mistake{"PrometheusRule", `"expr":`, `"expression":`, "unknown fields"},
		mistake{"PrometheusRule", `"severity":"critical"`, `"severity":1`, "severity"},
		mistake{"ServiceMonitor", `"scheme":"https"`, `"scheme":"tls"`, "scheme"},
	)
}
