// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package fill

import (
	"fmt"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/daemon"
	"github.com/example/memcached-operator/test/traffic"
)

type node struct {
	*daemon.Memcached

	t testing.TB
}

func start(t testing.TB, arguments ...string) *node {
	t.Helper()
	return &node{daemon.Start(t, arguments...), t}
}

func (n *node) store(count, size int) {
	n.t.Helper()
	n.storeAs("key", count, size)
}

// storeAs stores the items PREFIX-0, PREFIX-1 and so on.
func (n *node) storeAs(prefix string, count, size int) {
	n.t.Helper()
	conn, value := n.Connect(), strings.Repeat("v", size)
	for first := 0; first < count; first += 1000 {
		var request strings.Builder
		for i := first; i < min(first+1000, count); i++ {
			fmt.Fprintf(&request, "ms %s-%d %d T0 q\r\n%s\r\n", prefix, i, size, value)
		}
		reply, err := conn.Command(n.t.Context(), request.String()+"mn")
		must(n.t, err)
		if reply != "MN" {
			n.t.Fatal(reply)
		}
	}
}

func (n *node) ask(command string) string {
	n.t.Helper()
	reply, err := n.Connect().Command(n.t.Context(), command)
	must(n.t, err)
	return reply
}

func (n *node) items() string {
	n.t.Helper()
	stats, err := n.Connect().Stats(n.t.Context())
	must(n.t, err)
	return stats["curr_items"]
}

func (n *node) value(key string) string {
	n.t.Helper()
	value, err := traffic.Read(n.t.Context(), n.Connect(), key)
	must(n.t, err)
	if value == nil {
		return ""
	}
	return string(value.Bytes)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
