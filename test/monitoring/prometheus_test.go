// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/monitoring"
)

// What Prometheus reads is all that the PrometheusRule says.
func TestRuleFileHasEverything(t *testing.T) {
	prometheusRule := read(t, monitoring.RulesFile)
	rules, file, err := monitoring.Rules(prometheusRule)
	if err != nil || len(rules) < 25 {
		t.Fatalf("%s has only %d rules: %v", monitoring.RulesFile, len(rules), err)
	}
	var object, got map[string]any
	for content, into := range map[string]*map[string]any{prometheusRule: &object, string(file): &got} {
		if err := yaml.Unmarshal([]byte(content), into); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(object["spec"], any(got)); diff != "" {
		t.Errorf("the rule file (-PrometheusRule +file):\n%s", diff)
	}
}

// fakePrometheus answers each query with two series.
func fakePrometheus(t *testing.T) monitoring.Prometheus {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		values := `[[1000,"1"],[1001,"NaN"],[1002,"3"]]`
		if request.FormValue("start") == request.FormValue("end") {
			values = `[[1002,"3"]]`
		}
		answer.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(answer, `{"status":"success","data":{"resultType":"matrix","result":[
			{"metric":{"pod":"a","slab":"1"},"values":%[1]s},{"metric":{"pod":"b"},"values":%[1]s}]}}`, values)
	}))
	t.Cleanup(server.Close)
	prometheus, err := monitoring.Connect(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return prometheus
}

func TestDrawing(t *testing.T) {
	dashboard, err := monitoring.ParseDashboard(`{"title": "T", "panels": [
		{"title": "Graph", "type": "timeseries", "targets": [{"expr": "a", "legendFormat": "{{pod}} in {{ slab }}"}]},
		{"title": "Number", "type": "stat", "targets": [{"expr": "b", "legendFormat": "now", "instant": true}]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := fakePrometheus(t).Draw(t.Context(), dashboard, time.Unix(1000, 0), time.Unix(1002, 0))
	if err != nil {
		t.Fatal(err)
	}
	a, b := map[string]string{"pod": "a", "slab": "1"}, map[string]string{"pod": "b"}
	line, number := [][2]float64{{0, 1}, {2, 3}}, [][2]float64{{2, 3}}
	want := monitoring.Drawing{Title: "T", Panels: []monitoring.DrawnPanel{
		{Panel: dashboard.Panels[0].JSON, Series: []monitoring.Series{
			{Legend: "a in 1", Labels: a, Points: line}, {Legend: "b in ", Labels: b, Points: line},
		}},
		{Panel: dashboard.Panels[1].JSON, Series: []monitoring.Series{
			{Legend: "now", Labels: a, Points: number}, {Legend: "now", Labels: b, Points: number},
		}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestQueriesThatFailAreNamed(t *testing.T) {
	prometheus, err := monitoring.Connect("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = prometheus.Between(t.Context(), "some_query", time.Unix(0, 0), time.Unix(1, 0))
	if err == nil || !strings.HasPrefix(err.Error(), "some_query: ") {
		t.Errorf("got %v", err)
	}
}
