// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/internal/agent/protocol"
)

// All proxies must spread the keys over the same number of nodes at each moment. The test changes the size of the cache at random,
// and the operator notices each change late. The proxies read each ConfigMap within a minute and a half.
func TestProxiesSwitchTogether(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		v := live(t, View{Proxy: front(), Pool: sessions(3), Now: now}, options)
		proxies := make([]reader, 3)
		for i := range proxies {
			proxies[i].read(*v.liveRoutes(), now)
		}
		switches, before := 0, 3
		for range 1200 { // seconds
			v.Now = v.Now.Add(time.Second)
			if random.IntN(60) == 0 {
				v.Pool = sessions(1 + random.IntN(6))
			}
			if random.IntN(20) == 0 {
				former := v.liveRoutes().String()
				if v = view(v, For(v, options)); v.liveRoutes().String() != former {
					for i := range proxies {
						proxies[i].read(*v.liveRoutes(), v.Now.Add(time.Duration(random.IntN(90))*time.Second))
					}
				}
			}
			count := proxies[0].at(v.Now)
			for i := range proxies {
				if other := proxies[i].at(v.Now); other != count {
					t.Fatalf("seed %d, after %s: proxy 0 leads to %d nodes, proxy %d to %d", seed, v.Now.Sub(now), count, i, other)
				}
			}
			if count != before {
				switches, before = switches+1, count
			}
		}
		if switches == 0 {
			t.Errorf("seed %d: no switch", seed)
		}
	}
}

// reader is a proxy. The field routes has what the kubelet delivered last. The field coming has what the kubelet will deliver.
type reader struct {
	routes protocol.Routes
	coming []arrival
}

type arrival struct {
	routes protocol.Routes
	at     time.Time
}

func (r *reader) read(routes protocol.Routes, at time.Time) {
	r.coming = append(r.coming, arrival{routes, at})
}

// at returns the number of nodes that the proxy uses. Once a ConfigMap has arrived, older ones are ignored.
func (r *reader) at(now time.Time) int {
	for i, next := range slices.Backward(r.coming) {
		if !next.at.After(now) {
			r.routes, r.coming = next.routes, r.coming[i+1:]
			break
		}
	}
	return r.routes.Pool.At(now)
}

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
