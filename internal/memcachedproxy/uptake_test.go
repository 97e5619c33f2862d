// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// TestUptake checks which proxies count as having the routes, and the message about a proxy that does not count.
func TestUptake(t *testing.T) {
	v := live(t, View{Proxy: front(), Pool: sessions(3), Now: now}, options)
	for i := range v.Pods {
		v.Pods[i].UID = types.UID(v.Pods[i].Name)
	}
	first, other := v.serving()[0], v.serving()[1]
	text := v.liveRoutes().String()
	refused := &protocol.RefusedRoutes{Routes: text, Reason: "memcached cannot read them"}
	for name, row := range map[string]struct {
		answer  Answer
		have    int32
		failure string
	}{
		"it has them":               {answer: Answer{Status: protocol.ProxyStatus{Routes: text, Count: 3}}, have: 2},
		"it has others":             {answer: Answer{Status: protocol.ProxyStatus{Routes: "others", Count: 3}}, have: 1},
		"it leads to fewer nodes":   {answer: Answer{Status: protocol.ProxyStatus{Routes: text, Count: 2}}, have: 1},
		"memcached reads them":      {answer: Answer{Status: protocol.ProxyStatus{Routes: text, Count: 3, Reloading: true}}, have: 1},
		"it refused an earlier one": {answer: Answer{Status: protocol.ProxyStatus{Routes: text, Count: 3, Refused: refused}}, have: 2},
		"it refused them": {
			answer: Answer{Status: protocol.ProxyStatus{Routes: "others", Count: 3, Refused: refused}}, have: 1, failure: ": memcached cannot read them",
		},
		"memcached refused them": {
			answer: Answer{Status: protocol.ProxyStatus{Routes: text, Count: 3, Reloading: true, Refused: refused}}, have: 1,
			failure: ": memcached cannot read them",
		},
		"it does not answer": {answer: Answer{Failure: "timed out"}, have: 1, failure: " does not answer the operator: timed out"},
	} {
		t.Run(name, func(t *testing.T) {
			v.Answers = map[types.UID]Answer{first.UID: row.answer, other.UID: {Status: protocol.ProxyStatus{Routes: text, Count: 3}}}
			want := uptake{have: row.have, of: 2}
			if row.failure != "" {
				want.failure = first.Name + row.failure
			}
			if got := v.uptake(); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}
