// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// mistakeRows have pods that a namespace refuses: the message names the field of the Memcached that helps.
func mistakeRows(t *testing.T) []statusCase {
	const (
		pod    = `pods "cache-5d4f-x7x2k" is forbidden: `
		demand = "failed quota: compute: must specify limits.cpu for: memcached; requests.cpu for: memcached"
		higher = "maximum memory usage per Container is 128Mi, but limit is 198Mi"
	)
	mc := memcachedtest.Cache(3)
	var rows []statusCase
	for _, row := range []struct{ name, refusal, message string }{
		{
			"a quota demands what the spec does not set", demand,
			"QuotaExceeded: pods is forbidden: " + demand + ". Set spec.resources.limits.cpu and spec.resources.requests.cpu",
		},
		{
			"a LimitRange is lower than the computed limit", higher, "AdmissionDenied: pods is forbidden: " + higher +
				". The memory limit follows from spec.config, unless spec.resources.limits.memory sets it: lower spec.config.memory",
		},
	} {
		rows = append(rows, statusCase{
			name: row.name, mc: mc,
			deployment: makeDeployment(t, mc, revision(1), counts(1, 0, 0, 0), refused(pod+row.refusal)),
			ready:      "False " + row.message, available: unavailable0, progressing: seeDegraded, degraded: "True " + row.message,
		})
	}
	return rows
}

func TestNameSpecFields(t *testing.T) {
	for _, c := range []struct{ message, want string }{
		{
			`Deployment.apps "cache" is invalid: [spec.template.spec.tolerations[0].operator: Invalid value: "": operator must be Exists ` +
				`when key is empty, which means "match all values and all keys", spec.template.spec.nodeSelector: Invalid value: "a b"]`,
			`Deployment.apps "cache" is invalid: [spec.scheduling.tolerations[0].operator: Invalid value: "": operator must be Exists ` +
				`when key is empty, which means "match all values and all keys", spec.scheduling.nodeSelector: Invalid value: "a b"]`,
		},
		{`spec.template.labels: Invalid value: "a b"`, `spec.podMetadata.labels: Invalid value: "a b"`},
		{`Service "cache" is invalid: spec.ports[0].port: Invalid value: 0`, `Service "cache" is invalid: spec.ports[0].port: Invalid value: 0`},
	} {
		if got := NameSpecFields(c.message); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
