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
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

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

func (s *nameserver) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, StrictErrors: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", s.conn.LocalAddr().String())
	}}
}

func (p *proxyPod) named() *nameserver {
	p.t.Helper()
	dns := newNameserver(p.t)
	p.pattern, p.proxy.dns = "node-%d.shop.svc", dns.resolver()
	must(p.t, os.WriteFile(p.proxy.resolver, []byte("search shop.svc.cluster.test svc.cluster.test\nnameserver 127.0.0.1\n"), 0o600))
	return dns
}

// beginNamed starts nodes, a nameserver that knows their names, and a proxy for them.
func (p *proxyPod) beginNamed(count int) *nameserver {
	p.t.Helper()
	dns := p.named()
	for i := range count {
		p.at(dns, i, i)
	}
	p.beginWith(count)
	return dns
}

// at makes the DNS name of the given node resolve to the address of the memcached that startNode(number) starts.
func (p *proxyPod) at(dns *nameserver, node, number int) {
	dns.change(func() { dns.records[fmt.Sprintf("node-%d.shop.svc.cluster.test.", node)] = p.node(number) })
}
