// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// A statistic has no series if its name is unknown or not printable, or if its value is not a number.
func TestCollectOfAProxy(t *testing.T) {
	p := &Proxy{
		General: map[string]string{"proxy_req_active": "1", "get_misses": "many"}, Commands: map[string]string{"cmd_get": "5", "vm_gc_runs": "2", "cmd_\xff": "1", "user_missed_writes_2": "3", "user_found_in_copy_2": "4"},
		Backends: map[string]string{"bad_a-0.a.svc.": "2", "bad_\xff": "1", "other": "1"},
	}
	collected := make(chan prometheus.Metric, 20)
	err := p.Collect(collected)
	close(collected)
	var got []string
	for metric := range collected {
		var written dto.Metric
		if err := metric.Write(&written); err != nil {
			t.Fatal(err)
		}
		got = append(got, labelText(&written)+fmt.Sprintf(" %v", written.GetGauge().GetValue()+written.GetCounter().GetValue()))
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{" 1", `{backend="a-0.a.svc"} 2`, `{command="get"} 5`, `{copy="2"} 3`, `{copy="2"} 4`}, got); diff != "" || err == nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}
