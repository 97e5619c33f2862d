// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"net"
	"runtime"
	"testing"
)

func TestAThousandScrapesLeakNothing(t *testing.T) {
	good := recorded(t, "default")
	f := newFake(t, good)
	a := startAgent(t, f.options())
	a.mustScrape(t, "memcached_up 1")
	before := runtime.NumGoroutine()
	behaviors := []func(net.Conn){good, closesAfter(""), closesAfter("STAT pid 1\r\nSTAT"), always("nonsense\r\n"), refuses, always(unauthenticatedReply)}
	for i := range 1000 {
		f.behave(behaviors[i%len(behaviors)])
		a.get(t, "/metrics")
		if i%7 == 0 {
			f.hangUp()
		}
		if i%10 == 0 {
			a.get(t, "/readyz")
		}
	}
	f.behave(good)
	a.mustScrape(t, "memcached_up 1")
	eventually(t, "as few goroutines and connections as before", func() bool {
		open, _, _ := f.counts()
		return runtime.NumGoroutine() <= before && open == 1
	})
}
