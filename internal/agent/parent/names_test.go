// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/traffic"
)

// A node returns with another address. The hash ring uses node names, so the node gets the same keys as before.
func TestNodeReplaced(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	dns := p.beginNamed(3)
	p.agrees(p.client(), 3)
	conn, pid, owner := p.client(), p.pid(), traffic.Ketama(p.names(3))
	p.stores(conn, keys(300)...)
	nodes := map[int]*memcache.Conn{0: p.direct(0), 2: p.direct(2)}
	connected := p.stat(nodes[0], "total_connections")
	p.kill(1)
	dns.change(func() { delete(dns.records, "node-1.shop.svc.cluster.test.") })
	p.logs("node-1.shop.svc is away")
	p.misses("1 of 3 nodes: node-1.shop.svc (DNS has no address)")
	p.leads(p.pattern + " 3\n") // memcached would find the other server at the former address
	// Another server gets the node's former address.
	p.startNode(1)
	p.startNode(7)
	nodes[1], nodes[7] = p.direct(1), p.direct(7)
	p.at(dns, 1, 7)
	p.stores(conn, keys(300)...)
	for _, key := range keys(300) {
		node := owner(key)
		if node == 1 {
			node = 7
		}
		if got := p.read(nodes[node], key); got != key {
			t.Fatalf("node %d has %q for %s", node, got, key)
		}
	}
	if items := p.stat(nodes[1], "curr_items"); items != 0 {
		t.Errorf("the other server at the former address got %d items", items)
	}
	if now := p.stat(nodes[0], "total_connections"); now != connected || p.pid() != pid {
		t.Errorf("a node whose address has not changed was connected to %d times, and then %d times", connected, now)
	}
}

// While DNS does not answer, the proxy uses the addresses that it knows, and no client waits for DNS.
func TestNodeAndDNSAway(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	dns := p.beginNamed(3)
	owner, others := traffic.Ketama(p.names(3)), []string{}
	conn := p.client()
	for _, key := range keys(300) {
		p.set(conn, key, key)
		if owner(key) != 1 {
			others = append(others, key)
		}
	}
	dns.change(func() { dns.away = true })
	p.kill(1)
	reads, before := 0, dns.questions()
	for ; dns.questions() < before+4; reads++ { // the parent asks for A and AAAA, waits in vain, and asks again
		key := others[reads%len(others)]
		if got := p.read(conn, key); got != key {
			t.Fatalf("%s is %q", key, got)
		}
	}
	if reads < len(others) {
		t.Errorf("only %d reads while the parent waited for DNS", reads)
	}
	// The next container of the pod still knows the addresses.
	must(t, syscall.Kill(p.pid(), syscall.SIGKILL))
	p.exit()
	p.startProxy()
	p.leads(p.pattern + " 3\n")
	if got := p.read(p.client(), others[0]); got != others[0] {
		t.Errorf("%s is %q", others[0], got)
	}
	p.startNode(7)
	dns.change(func() { dns.away = false })
	p.at(dns, 1, 7)
	p.stores(p.client(), missing(owner, 1))
}

// missing returns a key that belongs to a node.
func missing(owner traffic.Owner, node int) string {
	for _, key := range keys(300) {
		if owner(key) == node {
			return key
		}
	}
	panic("a node has no key")
}

// The first start of a pod waits for DNS: without addresses, its clients would get only misses and errors.
func TestFirstStartNeedsDNS(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	dns := p.named()
	dns.change(func() { dns.failing = true })
	p.startNode(0)
	p.at(dns, 0, 0)
	text := p.lead(2) // the second node does not exist yet
	p.startProxy()
	p.logs("waiting for DNS")
	p.misses("2 of 2 nodes: node-0.shop.svc (no answer from DNS, port 53), node-1.shop.svc (no ")
	if p.ready() == 200 {
		t.Error("the probe does not know that it waits")
	}
	p.signals <- syscall.SIGTERM
	p.exits(0)
	p.startProxy()
	dns.change(func() { dns.failing = false })
	p.leads(text)
	conn, owner := p.client(), traffic.Ketama(p.names(2))
	if reply := p.set(conn, missing(owner, 0), "x"); reply != "STORED" {
		t.Error(reply)
	}
	if reply := p.set(conn, missing(owner, 1), "x"); reply != failure {
		t.Error(reply)
	}
}

// A proxy becomes ready when it reaches all nodes, and stops being ready when it reaches none.
func TestReadyWithNodes(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	dns := p.named()
	p.lead(3)
	p.startProxy()
	p.misses("3 of 3 nodes: node-0.shop.svc (DNS has no address), node-1.shop.svc (DNS has no address), node-2.shop.svc (DNS has no ")
	p.startNode(0)
	for i := range 2 {
		p.at(dns, i, i)
	}
	p.misses("2 of 3 nodes: node-1.shop.svc (no answer from " + p.node(1) + ":11211), node-2.shop.svc (DNS has no address)")
	if code := p.ready(); code != http.StatusServiceUnavailable {
		t.Errorf("with one node of three, the probe got %d", code)
	}
	p.startNode(1)
	p.startNode(2)
	p.at(dns, 2, 2)
	p.untilReady(http.StatusOK)
	conn := p.client()
	for _, key := range keys(300) {
		if reply := p.set(conn, key, key); reply != "STORED" {
			t.Fatalf("the ready proxy answers %s", reply)
		}
	}
	p.kill(1)
	p.kill(2)
	p.misses("2 of 3 nodes: ")
	if code := p.ready(); code != http.StatusOK {
		t.Errorf("with the last node of three, the probe got %d", code)
	}
	p.kill(0)
	p.untilReady(http.StatusServiceUnavailable)
}

func TestReadyWithoutAllNodes(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	dns := p.named()
	p.proxy.others = time.Millisecond
	p.startNode(1)
	p.at(dns, 1, 1)
	p.lead(3)
	p.startProxy()
	p.misses("2 of 3 nodes: node-0.shop.svc (DNS has no address), node-2.shop.svc ")
	p.untilReady(http.StatusOK)
}

// memcached does not answer here, so it knows of no node that is away.
func TestMissed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.77:11211")
	must(t, err)
	defer listener.Close()
	o := ProxyOptions{Memcached: "127.0.0.78:11211"}
	known := addresses{"up": netip.MustParseAddr("127.0.0.77"), "down": netip.MustParseAddr("127.0.0.78"), "none": {}}
	before := map[string]string{"up": "", "down": "", "none": "", "new": ""}
	got := o.missed(t.Context(), []string{"up", "down", "none", "new"}, known, before)
	want := map[string]string{
		"up": "", "down": "dial tcp 127.0.0.78:11211: connect: connection refused",
		"none": "DNS has no address", "new": "no answer from DNS, port 53",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// At rest, the parent asks DNS for A and AAAA of each node only every 30 seconds.
func TestQuestionsAtRest(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	dns := p.beginNamed(3)
	p.await("the first look is over", func() error {
		if dns.questions() < 12 { // A and AAAA of three nodes, before the start and after it
			return errors.New("too few questions")
		}
		return nil
	})
	before := dns.questions()
	time.Sleep(2 * time.Second) // a hundred polls
	if now := dns.questions(); now != before {
		t.Errorf("%d more questions", now-before)
	}
}

func TestInTurn(t *testing.T) {
	seen := map[string]bool{}
	for turn := 0; turn < 40; turn += lookupsAtOnce {
		for _, name := range inTurn(keys(40), turn) {
			seen[name] = true
		}
	}
	if len(seen) != 40 || len(inTurn(keys(3), 5)) != 3 {
		t.Errorf("%d of 40", len(seen))
	}
}

// memcached must also understand IPv6 addresses as the parent writes them.
func TestAddressOfIPv6(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	dns := p.named()
	p.at(dns, 0, 0)
	p.startNode(0)
	known := addresses{"node-0.shop.svc": netip.MustParseAddr("::ffff:" + p.node(0))} // memcached uses an IPv6 socket
	must(t, os.WriteFile(p.proxy.values(), []byte(p.proxy.valuesOf(protocol.Routes{Pool: protocol.Pool{Pattern: p.pattern}}, 1, known)), 0o600))
	dns.change(func() { dns.away = true })
	text := p.lead(1)
	p.startProxy()
	p.leads(text)
	if reply := p.set(p.client(), "key", "value"); reply != "STORED" || p.read(p.direct(0), "key") != "value" {
		t.Error(reply)
	}
}

func (p *proxyPod) stat(conn *memcache.Conn, name string) int64 {
	p.t.Helper()
	stats, err := conn.Stats(p.t.Context())
	must(p.t, err)
	return number(stats, name)
}

func (p *proxyPod) named() *nameserver {
	p.t.Helper()
	dns := newNameserver(p.t)
	p.pattern, p.proxy.dns.client = "node-%d.shop.svc", dns.client()
	must(p.t, os.WriteFile(p.proxy.dns.config, []byte("search shop.svc.cluster.test svc.cluster.test\nnameserver 127.0.0.1\n"), 0o600))
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
	if message.Unpack(request) != nil {
		return nil
	}
	question := message.Questions[0]
	name := question.Name.String()
	s.asked[name]++
	message.Response, message.Authoritative, message.Additionals = true, true, nil
	address, err := netip.ParseAddr(s.records[name])
	header := dnsmessage.ResourceHeader{Name: question.Name, Class: question.Class, Type: question.Type}
	switch {
	case s.away:
		return nil
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
