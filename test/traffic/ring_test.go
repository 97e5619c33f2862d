// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic_test

import (
	"errors"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/test/traffic"
)

// ketama_test.go checks which server owns a key.

// ring returns a ring of servers with these names and arbitrary addresses.
func ring(t *testing.T, names ...string) *traffic.Ring {
	t.Helper()
	var servers []traffic.Server
	for _, name := range names {
		servers = append(servers, traffic.Server{Name: name, Address: "192.0.2.1:11211"})
	}
	result, err := traffic.NewRing(servers...)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestAddress checks that the owner of a key depends only on the names of the servers, and that clients dial the owner's address.
func TestAddress(t *testing.T) {
	servers := []traffic.Server{{Name: "b", Address: "b.example:11211"}, {Name: "a", Address: "[2001:db8::1]:11211"}}
	r, err := traffic.NewRing(servers...)
	if err != nil {
		t.Fatal(err)
	}
	servers[0].Address = "changed" // must not affect the ring
	same := ring(t, "a", "b")
	for number := range 1000 {
		if key := traffic.Key(number + 1); r.Owner(key).Name != same.Owner(key).Name {
			t.Fatalf("%s has another owner when the addresses and the order change", key)
		}
	}
	first, err := r.PickServer("key-000001")
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.PickServer("key-000001")
	if err != nil || first != again {
		t.Errorf("the same server has the addresses %v and %v, which are not ==: %v", first, again, err)
	}
	if first.Network() != "tcp" || first.String() != r.Owner("key-000001").Address {
		t.Errorf("%s %s is dialed", first.Network(), first)
	}
	var all []string
	stop := errors.New("enough")
	err = r.Each(func(address net.Addr) error {
		if all = append(all, address.String()); len(all) == len(servers) {
			return stop
		}
		return nil
	})
	if diff := cmp.Diff([]string{"[2001:db8::1]:11211", "b.example:11211"}, all); diff != "" || !errors.Is(err, stop) {
		t.Errorf("each (-want +got):\n%s\n%v", diff, err)
	}
}

func TestNewRingRefuses(t *testing.T) {
	for want, servers := range map[string][]traffic.Server{
		"a ring needs at least one server":                         nil,
		`a server needs a name and an address, got "" and "a:1"`:   {{Address: "a:1"}},
		`a server needs a name and an address, got "cache" and ""`: {{Name: "cache"}},
		"two servers are named cache":                              {{Name: "cache", Address: "a:1"}, {Name: "cache", Address: "b:1"}},
	} {
		if _, err := traffic.NewRing(servers...); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
