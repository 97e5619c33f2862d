// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/credentials"
	"github.com/example/memcached-operator/test/traffic"
)

// neighbour is a client that checks each answer, while a hostile client uses the same proxy.
type neighbour struct {
	conn   net.Conn
	reader *bufio.Reader
	number int
}

func (n *neighbour) ask(request string) (string, error) {
	if _, err := io.WriteString(n.conn, request); err != nil {
		return "", err
	}
	reply, err := n.reader.ReadString('\n')
	for lines := 1; err == nil && strings.HasPrefix(reply, "VALUE ") && lines < 3; lines++ { // the value and END follow
		var line string
		line, err = n.reader.ReadString('\n')
		reply += line
	}
	return reply, err
}

func keyOfNeighbour(number, at int) string { return fmt.Sprintf("client-%d-key-%d", number, at) }

// trip stores a value and reads it again. It returns whether both succeeded, and an error if an answer cannot be one to its request.
// With several pools, a pool that has missed the set may answer with an earlier value of the key.
func (n *neighbour) trip(at int) (bool, error) {
	key := keyOfNeighbour(n.number, at%20)
	value := fmt.Sprintf("value-%d-of-%s", at, key)
	set, err := n.ask(fmt.Sprintf("set %s 0 0 %d\r\n%s\r\n", key, len(value), value))
	if err == nil && set != "STORED\r\n" && !strings.HasPrefix(set, "SERVER_ERROR ") {
		err = fmt.Errorf("the answer to a set of %s is %q", key, set)
	}
	if err != nil {
		return false, err
	}
	get, err := n.ask("get " + key + "\r\n")
	own := strings.HasPrefix(get, "VALUE "+key+" ") && strings.Contains(get, "-of-"+key+"\r\n")
	if err == nil && !own && get != "END\r\n" && !strings.HasPrefix(get, "SERVER_ERROR ") {
		err = fmt.Errorf("the answer to a get of %s is %q", key, get)
	}
	return set == "STORED\r\n" && strings.Contains(get, value+"\r\n"), err
}

// besides lets four clients make round trips while hostile clients call harass again and again. It returns how many round trips failed.
func (p *proxyPod) besides(trips, hostile int, harass func()) int64 {
	p.t.Helper()
	done := make(chan struct{})
	var harassing sync.WaitGroup
	for range hostile {
		harassing.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					harass()
				}
			}
		})
	}
	const clients = 4
	var failed atomic.Int64
	results := make(chan error, clients)
	for number := range clients {
		n := &neighbour{number: number}
		conn, err := (&net.Dialer{}).DialContext(p.t.Context(), "tcp", p.proxy.Memcached)
		must(p.t, err)
		n.conn, n.reader = conn, bufio.NewReader(conn)
		go func() {
			defer conn.Close()
			for at := range trips / clients {
				_ = conn.SetDeadline(time.Now().Add(patienceOfTests)) // the trip notices an error
				succeeded, err := n.trip(at)
				if err != nil {
					results <- err
					return
				}
				if !succeeded {
					failed.Add(1)
				}
			}
			results <- nil
		}()
	}
	for range clients {
		if err := <-results; err != nil {
			p.t.Error(err)
		}
	}
	close(done)
	harassing.Wait()
	return failed.Load()
}

// harass sends some requests over one connection, and waits a moment for their answers.
func (p *proxyPod) harass(request func() string) {
	conn, err := (&net.Dialer{}).DialContext(p.t.Context(), "tcp", p.proxy.Memcached)
	if err != nil {
		return
	}
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for range 20 {
		_ = conn.SetDeadline(time.Now().Add(5 * time.Millisecond))
		_, _ = io.WriteString(conn, request()+"mn\r\n")
		for line := ""; line != "MN\r\n"; {
			if line, err = reader.ReadString('\n'); err != nil {
				return
			}
		}
	}
}

// odd are the parts of odd requests.
var odd = struct{ commands, keys, tokens, ends []string }{
	commands: []string{
		"get", "gets", "gat 10", "gats 10", "mg", "ms", "md", "ma", "me", "incr", "decr", "touch", "delete", "set", "add", "append", "replace", "cas",
	},
	keys: []string{
		"absent", "q", "noreply", "qq", strings.Repeat("k", 250), strings.Repeat("k", 251), strings.Repeat("k", 300), "ZjM=", "a\tb", "\x01", "é",
	},
	tokens: []string{
		"q", "noreply", "k", "v", "0", "1", "3", "-1", "b", "O123", "N30", "T0", "ME", "MA", "C1", "E5", "I", "S3", "D1", "F9", "Z", "x", "\r", "\tq",
		"O" + strings.Repeat("o", 40), "é",
	},
	ends: []string{"\r\n", "\n", " \r\n", "  \r\n", "\r\r\n", " \n"},
}

// oddRequest returns a request that is often malformed: too many tokens, tokens twice or glued together, other line ends.
func oddRequest(random *rand.Rand) string {
	pick := func(words []string) string { return words[random.IntN(len(words))] }
	request := pick(odd.commands) + " " + pick(odd.keys)
	again := odd.tokens[random.IntN(3)]
	for range random.IntN(30) {
		token := again
		if random.IntN(4) == 0 {
			token = pick(odd.tokens)
		}
		if random.IntN(6) == 0 {
			token += again
		}
		request += strings.Repeat(" ", 1+random.IntN(8)/7) + token
	}
	request += pick(odd.ends)
	if random.IntN(2) == 0 {
		request += strings.Repeat("a", random.IntN(5)) + "\r\n"
	}
	return request
}

// seed differs for each request, so that go test -count tries others.
var seed atomic.Uint64

// Whatever a client sends, the other clients of a proxy get the answers to their own requests.
func TestAnswersBesideOddRequests(t *testing.T) {
	t.Parallel()
	for pools := 1; pools <= 2; pools++ {
		t.Run(fmt.Sprintf("%d pools", pools), func(t *testing.T) {
			t.Parallel()
			p := newCopiesPod(t, pools)
			// What fails is not judged here, but wrong answers are.
			p.besides(6000, 3, func() {
				p.harass(func() string { return oddRequest(rand.New(rand.NewPCG(seed.Add(1), uint64(pools)))) })
			})
		})
	}
}

// A node refuses a longer key, and memcached's proxy then closes its connection to the node.
func TestLongKeysOfOthers(t *testing.T) {
	t.Parallel()
	for pools := 1; pools <= 2; pools++ {
		t.Run(fmt.Sprintf("%d pools", pools), func(t *testing.T) {
			t.Parallel()
			p := newCopiesPod(t, pools)
			for _, request := range []string{"touch K 1\r\n", "get K\r\n", "get a K\r\n", "set K 0 0 1\r\na\r\n", "mg K v\r\n"} {
				request = strings.Replace(request, "K", strings.Repeat("k", 251), 1)
				if failed := p.besides(1000, 3, func() { p.harass(func() string { return request }) }); failed > 0 {
					t.Errorf("%.20s...: %d round trips of others failed", request, failed)
				}
			}
		})
	}
}

// One client's error makes memcached close the proxy's connection to a node, and requests of others on their way there fail. Another copy
// executes them, unless its connection closes at the same moment, and no old value stays in the first.
func TestCopiesAfterErrorsOfOthers(t *testing.T) {
	t.Parallel()
	p := newCopiesPod(t, 2)
	word, sent := newTalk(t, p.proxy.Memcached), 0
	if failed := p.besides(8000, 1, func() {
		sent++
		word.pipeline(fmt.Sprintf("set word-%d 0 0 1\r\na\r\nincr word-%d 1\r\n", sent%10, sent%10))
	}); failed > 80 || sent < 100 {
		t.Errorf("%d of 8000 round trips of others failed beside %d errors", failed, sent)
	}
	stats, err := p.client().Stats(t.Context(), "proxy")
	must(t, err)
	if missed := number(stats, "user_missed_writes_1") + number(stats, "user_missed_writes_2"); missed > 400 {
		t.Errorf("%d of 8000 writes count as missed", missed)
	}
	nodes := p.directly(2)
	for client := range 4 {
		for at := range 20 {
			if values, _ := valuesOf(nodes, keyOfNeighbour(client, at)); len(values) > 1 {
				t.Errorf("nodes have %v", values)
			}
		}
	}
}

// withTLS makes the proxy serve TLS with a certificate of a new CA.
func (p *proxyPod) withTLS() *credentials.Authority {
	p.t.Helper()
	authority, err := credentials.NewAuthority("test")
	must(p.t, err)
	p.proxy.TLS, p.proxy.pair = "1.2", filepath.Join(p.proxy.State, "current")
	p.proxy.tlsListen = strings.Replace(p.proxy.Memcached, ":11211", ":11212", 1)
	must(p.t, os.Mkdir(p.proxy.pair, 0o700))
	p.certify(authority)
	return authority
}

// certify gives the proxy another certificate, as an agent does before it signals memcached, and returns its serial number.
func (p *proxyPod) certify(authority *credentials.Authority) string {
	p.t.Helper()
	id, err := authority.Server("proxy", "proxy")
	must(p.t, err)
	must(p.t, replaceFile(filepath.Join(p.proxy.pair, "tls.crt"), string(id.Certificate)))
	must(p.t, replaceFile(filepath.Join(p.proxy.pair, "tls.key"), string(id.Key)))
	pair, err := tls.X509KeyPair(id.Certificate, id.Key)
	must(p.t, err)
	return pair.Leaf.SerialNumber.Text(16)
}

// hangUp signals memcached, as an agent does.
func (p *proxyPod) hangUp() error { return syscall.Kill(p.memcachedPID(), syscall.SIGHUP) }

// memcachedPID asks memcached for its process ID. The method pid cannot find a process whose arguments are for TLS.
func (p *proxyPod) memcachedPID() int {
	p.t.Helper()
	stats, err := p.client().Stats(p.t.Context())
	must(p.t, err)
	return int(number(stats, "pid"))
}

// dialTLS connects as a client that trusts the CA. It also returns the serial number of memcached's certificate.
func (p *proxyPod) dialTLS(authority *credentials.Authority) (*tls.Conn, string, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM())
	conn, err := (&net.Dialer{}).DialContext(p.t.Context(), "tcp", p.proxy.tlsListen)
	must(p.t, err)
	p.t.Cleanup(func() { _ = conn.Close() })
	must(p.t, conn.(*net.TCPConn).SetReadBuffer(4096))
	client := tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: "proxy", MinVersion: tls.VersionTLS12})
	if err := client.HandshakeContext(p.t.Context()); err != nil {
		return nil, "", err
	}
	return client, client.ConnectionState().PeerCertificates[0].SerialNumber.Text(16), nil
}

// Clients with and without TLS must find each key on the same node. An agent signals memcached for a new certificate in the same way as the
// parent does for new routes. Clients must stay connected, and memcached must still read new routes.
func TestProxyWithTLS(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	authority := p.withTLS()
	p.beginWith(2)
	client, before, err := p.dialTLS(authority)
	must(t, err)
	conn := memcache.NewConn(client, p.proxy.tlsListen)
	p.agrees(conn, 2)

	want := p.certify(authority)
	must(t, p.hangUp())
	p.await("memcached serves the new certificate", func() error {
		_, serial, err := p.dialTLS(authority)
		if err == nil && serial != want {
			err = fmt.Errorf("the serial number is %s, not %s; it was %s", serial, want, before)
		}
		return err
	})
	p.agrees(conn, 2)

	must(t, p.hangUp())
	p.leads(p.lead(1))
	p.agrees(conn, 1)
	if refused := p.leads(p.pattern + " 1\n").Refused; refused != nil {
		t.Errorf("refused: %+v", refused)
	}
}

// The operator's memory model must cover TLS: 5 MiB, plus 42 KiB for each connection, in addition to the 8 KiB of a connection without
// TLS. Half of the clients send a part of a request, and the other half do not read their responses.
func TestMemoryForTLS(t *testing.T) {
	t.Parallel()
	const clients = 600
	p := newProxyPod(t)
	p.proxy.MaxConnections = clients + 50
	authority := p.withTLS()
	p.beginWith(1)
	if reply := p.set(p.client(), "key", strings.Repeat("x", 100_000)); reply != "STORED" {
		t.Fatal(reply)
	}
	pid := p.memcachedPID()
	at := []int{p.residentMiB(pid)}
	for _, request := range []string{"set other 0 0 9\r\npart", "get" + strings.Repeat(" key", 50) + "\r\n"} {
		for range clients / 2 {
			client, _, err := p.dialTLS(authority) // it does not read the response
			must(t, err)
			_, err = client.Write([]byte(request))
			must(t, err)
		}
		p.await("memcached has the connections", func() error {
			stats, err := p.client().Stats(t.Context())
			if want := int64(len(at) * clients / 2); err == nil && number(stats, "curr_connections") < want {
				err = fmt.Errorf("%s of %d connections", stats["curr_connections"], want)
			}
			return err
		})
		at = append(at, p.residentMiB(pid))
	}
	t.Logf("memcached had %v MiB", at)
	if most := clients / 2 * (42 + 8) / 1024; at[1]-at[0] > 5+most {
		t.Errorf("%d connections with a part of a request took %d MiB", clients/2, at[1]-at[0])
	}
	if limit := 24 + 40*p.proxy.Threads + 5 + p.proxy.MaxConnections*(42+8)/1024; at[2] > limit {
		t.Errorf("memcached had %d MiB, and the limit would be %d", at[2], limit)
	}
}

// Even if clients request much and read nothing, memcached must not take more than 24 MiB plus 40 MiB for each thread.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(2)
	conn, value := p.client(), strings.Repeat("x", 100_000)
	for _, key := range keys(100) {
		if reply := p.set(conn, key, value); reply != "STORED" {
			t.Fatal(reply)
		}
	}
	var most int
	request := "get " + strings.Join(keys(100), " ") + "\r\n"
	for range 60 {
		p.slow(request)
		most = max(most, p.residentMiB(p.pid()))
	}
	for began := time.Now(); time.Since(began) < 5*time.Second; time.Sleep(50 * time.Millisecond) { // no event shows the maximum
		most = max(most, p.residentMiB(p.pid()))
	}
	if limit := 24 + 40*p.proxy.Threads; most > limit || most < 30 {
		t.Errorf("memcached had %d MiB, and the limit would be %d", most, limit)
	}
	if err := answers(t.Context(), p.proxy.Memcached); err != nil {
		t.Errorf("the proxy is not well: %v", err)
	}
}

// A client that asks for much and reads nothing can use up the buffers of a thread. The parent restarts memcached.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.proxy.starvation = 500 * time.Millisecond
	p.beginWith(2)
	if reply := p.set(p.client(), "key", strings.Repeat("x", 1_000_000)); reply != "STORED" {
		t.Fatal(reply)
	}
	before := p.pid()
	for range 3 { // one is enough, unless the kernel takes a whole value off memcached
		p.slow("get" + strings.Repeat(" key", 98) + "\r\n")
	}
	p.proxyStatus("memcached was restarted", func(s protocol.ProxyStatus) bool { return s.BufferRestarts == 1 && !s.Reloading })
	if p.pid() == before {
		t.Error("the same memcached runs")
	}
	p.stores(p.client(), keys(300)...)
	if full, err := p.proxy.starves(t.Context()); p.ready() != 200 || full || err != nil {
		t.Errorf("the proxy is not well: %v", err)
	}
}

// A get of very many keys may close its connection or return errors, but must not end the proxy.
func TestGetsOfManyKeys(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(2)
	conn := p.client()
	for _, size := range []int{1000, 10_000, 100_000, 400_000} {
		values, reply, err := traffic.Get(t.Context(), conn, slices.Repeat([]string{"absent"}, size)...)
		if answered := err == nil && reply == "END" && values == 0; answered != (size == 1000) {
			t.Errorf("a get of %d keys: %q, %v", size, reply, err)
		}
		_ = conn.Close() // memcached may have closed it already
		conn = p.client()
		if reply := p.set(conn, "another", "x"); reply != "STORED" {
			t.Errorf("after a get of %d keys, another client gets %q", size, reply)
		}
	}
	if has, limit := p.residentMiB(p.pid()), 24+40*p.proxy.Threads; has > limit {
		t.Errorf("memcached has %d MiB, and the limit would be %d", has, limit)
	}
	if err := answers(t.Context(), p.proxy.Memcached); err != nil {
		t.Errorf("the proxy is not well: %v", err)
	}
}

// slow sends a request, and does not read the answer. With short segments, as on a real network, the kernel takes little of the answer
// off memcached.
func (p *proxyPod) slow(request string) {
	p.t.Helper()
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		var failure error
		err := raw.Control(func(fd uintptr) {
			failure = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4096),
				unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, 500))
		})
		return errors.Join(err, failure)
	}}
	conn, err := dialer.DialContext(p.t.Context(), "tcp", p.proxy.Memcached)
	must(p.t, err)
	p.t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.Write([]byte(request))
	must(p.t, err)
}

func (p *proxyPod) residentMiB(pid int) int {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(p.t, err)
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	var kib int
	_, err = fmt.Sscanf(strings.TrimSpace(rest), "%d", &kib)
	must(p.t, err)
	return kib / 1024
}
