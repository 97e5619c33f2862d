// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func TestLookup(t *testing.T) {
	dns := newNameserver(t)
	dns.change(func() { dns.records = map[string]string{"six.test.": "fd00::5", "four.test.": "10.0.0.7"} })
	r := resolver{client: dns.client()}
	names := []string{"six.test.", "four.test.", "none.test."}
	found := r.find(t.Context(), names, nil)
	if got := fmt.Sprint(found); got != "map[four.test.:10.0.0.7 none.test.:invalid IP six.test.:fd00::5]" {
		t.Error(got)
	}
	dns.change(func() { dns.failing = true })
	if found := r.find(t.Context(), names, nil); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

func TestHosts(t *testing.T) {
	for _, row := range []struct{ config, name, want string }{
		{"search shop.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\n", "s-0.s.shop.svc", "s-0.s.shop.svc.cluster.local."},
		{"search shop.svc.k8s.example. svc.k8s.example. example.com\n", "s-0.s.shop.svc", "s-0.s.shop.svc.k8s.example."},
		{"nameserver 10.96.0.10\n", "s-0.s.shop.svc", "s-0.s.shop.svc"},
		{"", "s-0.s.shop.svc", "s-0.s.shop.svc"},
		{"search svc.svc.cluster.local svc.cluster.local cluster.local\n", "s-0.s.svc.svc", "s-0.s.svc.svc.cluster.local."},
		{"search shop.svc.cluster.local\n", "127.0.0.10", "127.0.0.10"},
	} {
		r := resolver{config: filepath.Join(t.TempDir(), "resolv.conf")}
		if row.config != "" {
			must(t, os.WriteFile(r.config, []byte(row.config), 0o600))
		}
		if got := hostOf(row.name, r.searchList()); got != row.want {
			t.Errorf("%q: %q, not %q", row.config, got, row.want)
		}
	}
}

// nameserver is a DNS server on the loopback address.
type nameserver struct {
	conn  net.PacketConn
	mutex sync.Mutex
	// records maps names that end with a dot to addresses. If away is set, the server does not answer. If failing is set, it sends
	// errors.
	records       map[string]string
	away, failing bool
	asked         map[string]int
}

func newNameserver(t *testing.T) *nameserver {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	s := &nameserver{conn: conn, records: map[string]string{}, asked: map[string]int{}}
	go s.serve()
	return s
}

func (s *nameserver) serve() {
	for buffer := make([]byte, 512); ; {
		size, client, err := s.conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		if reply := s.reply(buffer[:size]); reply != nil {
			_, _ = s.conn.WriteTo(reply, client) // a client without a reply asks again
		}
	}
}

func (s *nameserver) reply(request []byte) []byte {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var message dnsmessage.Message
	if message.Unpack(request) != nil || s.away {
		return nil
	}
	question := message.Questions[0]
	name := question.Name.String()
	s.asked[name]++
	message.Response, message.Authoritative, message.Additionals = true, true, nil
	address, err := netip.ParseAddr(s.records[name])
	header := dnsmessage.ResourceHeader{Name: question.Name, Class: question.Class, Type: question.Type}
	switch {
	case s.failing:
		message.RCode = dnsmessage.RCodeServerFailure
	case err != nil:
		message.RCode = dnsmessage.RCodeNameError
	case address.Is4() && question.Type == dnsmessage.TypeA:
		message.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: address.As4()}}}
	case address.Is6() && question.Type == dnsmessage.TypeAAAA:
		message.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: address.As16()}}}
	}
	reply, _ := message.Pack() // this cannot fail for an unpacked message
	return reply
}

func (s *nameserver) change(change func()) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	change()
}

func (s *nameserver) questions() (count int) {
	s.change(func() {
		for _, asked := range s.asked {
			count += asked
		}
	})
	return count
}

func (s *nameserver) client() *net.Resolver {
	return &net.Resolver{PreferGo: true, StrictErrors: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", s.conn.LocalAddr().String())
	}}
}
