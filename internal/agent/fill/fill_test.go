// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package fill

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestItems copies one item of each kind. The destination must answer "mg ASKED" with the line in the field want.
func TestItems(t *testing.T) {
	t.Parallel()
	from, to := start(t), start(t)
	long := strings.Repeat("k", 250)
	year := time.Now().Unix() + 366*24*60*60
	items := []struct{ stored, value, asked, want string }{
		{"ms plain 5", "hello", "plain s v f t", "VA 5 s5 f0 t-1"},
		{"ms flags 5 F4294967295 T3600", "hello", "flags v f", "VA 5 f4294967295"},
		{"ms empty 0", "", "empty v", "VA 0"},
		{"ms crlf 4", "\r\n\r\n", "crlf v", "VA 4"},
		{"ms " + long + " 1", "x", long + " v", "VA 1"},
		{"ms AAEC/w== 6 b F7", "binary", "AAEC/w== b k f v", "VA 6 kAAEC/w== b f7"},
		{"ms bGV0dGVycw== 6 b", "binary", "letters v", "VA 6"}, // a client can also give the key as text
		{"ms large 1000000", strings.Repeat("l", 1000000), "large v", "VA 1000000"},
		{"ms present 3", "new", "present v", "VA 3"},
	}
	for _, item := range items[:8] {
		if reply := from.ask(item.stored + "\r\n" + item.value); reply != "HD" {
			t.Fatalf("%.40s: %s", item.stored, reply)
		}
	}
	from.ask("ms present 3\r\nold")
	from.ask("ms numbered 1 E9007199254740991\r\nx")
	for _, timed := range []string{
		"ms last 1 T2147483647\r\nx", "ms hour 1 T3600\r\nx", fmt.Sprintf("ms year 1 T%d\r\nx", year), "ms gone 1 T-1\r\nx",
	} {
		from.ask(timed)
	}
	to.ask("ms present 3\r\nnew")
	result, err := Copy{Source: from.Address, Destination: to.Address}.Run(t.Context())
	must(t, err)
	if result.Items != 12 || result.Present != 1 || result.Refused != 0 {
		t.Errorf("%+v", result)
	}
	for _, item := range items {
		conn, got := to.Connect(), make([]byte, len(item.value))
		reply, err := conn.Ask([]byte("mg " + item.asked + "\r\n"))
		must(t, err)
		must(t, conn.Read(got))
		if reply != item.want || string(got) != item.value {
			t.Errorf("%.40s: %s %.40q, want %s", item.stored, reply, got, item.want)
		}
	}
	for key, want := range map[string]int64{"hour": 3600, "year": year - time.Now().Unix(), "last": math.MaxInt32 - time.Now().Unix()} {
		var left int64
		if _, err := fmt.Sscanf(to.ask("mg "+key+" t"), "HD t%d", &left); err != nil || left < want-60 || left > want+2 { // memcached rounds
			t.Errorf("%s has %d s left, not %d: %v", key, left, want, err)
		}
	}
	if got := to.ask("mg numbered c"); got != "HD c9007199254740991" {
		t.Errorf("the copy has the CAS number %s", got)
	}
	if to.ask("mg gone") != "EN" {
		t.Error("what has expired is back")
	}
}

// A client with the binary protocol can store a key with spaces and line ends. Such keys are skipped.
func TestKeysOfTheBinaryProtocol(t *testing.T) {
	t.Parallel()
	from, to := start(t), start(t)
	from.store(100, 10)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", from.Address)
	must(t, err)
	defer conn.Close()
	for _, key := range []string{"my key", "my\nkey", "my\nEN", "my key\r", "my\r\nkey"} {
		// The request is a Set with 8 bytes of extras, the key, and a value of 1 byte.
		request := []byte("\x80\x01\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00" + strings.Repeat("\x00", 20) + key + "v")
		request[3], request[11] = byte(len(key)), byte(len(key)+9)
		_, err = conn.Write(request)
		must(t, err)
		_, err = io.ReadFull(conn, make([]byte, 24))
		must(t, err)
	}
	if from.items() != "105" {
		t.Fatalf("the source has %s items", from.items())
	}
	result, err := Copy{Source: from.Address, Destination: to.Address}.Run(t.Context())
	if err != nil || result.Items != 100 {
		t.Errorf("%+v, %v", result, err)
	}
}

// If an item expires at the last Unix time that memcached accepts, its copy must not get a later time, even if the clocks differ.
func TestLastExpiryTime(t *testing.T) {
	t.Parallel()
	last := item{key: "last", seconds: math.MaxInt32 - 1_000_000_000}
	if request := last.request(time.Unix(1_000_000_002, 0)); !strings.Contains(request, " T2147483647 ") {
		t.Error(request)
	}
}

func TestSourceIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	from, to := start(t), start(t)
	from.store(1, 10)
	_, err := Copy{Source: from.Address, Destination: to.Address}.Run(t.Context())
	must(t, err)
	if got := from.ask("mg key-0 h l t"); got != "HD h0 l0 t-1" {
		t.Errorf("the item was touched: %s", got)
	}
}

func TestManyItems(t *testing.T) {
	t.Parallel()
	const count = 20000
	from, all, some := start(t), start(t), start(t)
	from.store(count, 100)
	batches := 0
	result, err := Copy{Source: from.Address, Destination: all.Address, Progress: func(Result) { batches++ }}.Run(t.Context())
	must(t, err)
	if result.Items != count || result.Bytes != 100*count || all.items() != "20000" || batches < count/maxBatch {
		t.Errorf("%+v in %d batches, %s items", result, batches, all.items())
	}
	some.store(count/10, 100)
	result, err = Copy{Source: from.Address, Destination: some.Address}.Run(t.Context())
	must(t, err)
	if result.Items != count-count/10 || result.Present != count/10 {
		t.Errorf("%+v", result)
	}
}

func TestItemsThatTheDestinationRefuses(t *testing.T) {
	t.Parallel()
	from, to := start(t, "-I", "4m"), start(t)
	from.store(100, 10)
	from.ask("ms large 3000000\r\n" + strings.Repeat("l", 3000000))
	result, err := Copy{Source: from.Address, Destination: to.Address}.Run(t.Context())
	must(t, err)
	if result.Items != 100 || result.Refused != 1 || to.items() != "100" {
		t.Errorf("%+v, %s items", result, to.items())
	}
}

// TestBusySource copies while another client lists keys and does not read them. The list of 12 MB exceeds the buffers of the
// connection, so memcached's LRU crawler waits for this client. Another list request would block memcached's only thread.
func TestBusySource(t *testing.T) {
	t.Parallel()
	const count = 50000
	from, to := start(t, "-t", "1"), start(t)
	from.storeAs(strings.Repeat("k", 230), count, 1)
	other := from.Connect()
	reply, err := other.Ask([]byte("lru_crawler mgdump hash\r\n"))
	if err != nil || reply != "OK" {
		t.Fatal(reply, err)
	}
	time.Sleep(time.Second) // until the buffers are full
	c := Copy{Source: from.Address, Destination: to.Address, stall: 5 * time.Second, retry: 10 * time.Millisecond}
	answering, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for range 3 {
		if err := c.once(t.Context(), &Result{}); !errors.Is(err, errBusy) {
			t.Fatal(err)
		}
		if reply, err := from.Connect().Command(answering, "mn"); err != nil || reply != "MN" {
			t.Fatal(reply, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Second, cancel)
	if _, err := c.Run(ctx); !errors.Is(err, errBusy) || !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	must(t, other.Close())
	result, err := c.Run(t.Context())
	must(t, err)
	if result.Items != count {
		t.Errorf("%+v", result)
	}
}

// TestSourceBreaksOff copies from sources that end or hang after the first batch, from one that has ended before, and from one that hangs
// until nobody needs the copy any more.
func TestSourceBreaksOff(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"it ends": syscall.SIGKILL, "it hangs": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := start(t), start(t)
			from.store(20000, 100)
			began := false
			result, err := Copy{
				Source: from.Address, Destination: to.Address, stall: time.Second, retry: time.Millisecond,
				Progress: func(Result) {
					if !began {
						must(t, from.Command.Process.Signal(signal))
					}
					began = true
				},
			}.Run(t.Context())
			if err == nil || result.Items == 0 || result.Items == 20000 || !strings.Contains(err.Error(), from.Address) {
				t.Errorf("%+v: %v", result, err)
			}
			if value := to.value("key-0"); value != "" && len(value) != 100 {
				t.Errorf("half a value: %q", value)
			}
		})
	}
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		from := start(t)
		must(t, from.Command.Process.Signal(signal))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if _, err := (Copy{Source: from.Address, Destination: start(t).Address, stall: time.Hour}).Run(ctx); err == nil {
			t.Errorf("copied after %s", signal)
		}
		cancel()
	}
}

func TestWordsOfTheProtocol(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]item{
		"VA 5 kname f0 t-1":         {key: "name", seconds: -1, size: 5},
		"VA 5 kbmFtZQ== f9 t30 b":   {key: "bmFtZQ==", flags: 9, seconds: 30, binary: true, size: 5},
		"VA 5 kname f0 t30 c7 X W":  {key: "name", seconds: 30, cas: "7", stale: true, won: true, size: 5},
		"VA 0 kname f0 t30 c7 Z":    {key: "name", seconds: 30, cas: "7", claimed: true},
		"VA 5 kname f0 t30 unknown": {key: "name", seconds: 30, size: 5},
		"HD kname f0 t-1":           {},
		"VA -1 kname f0 t-1":        {},
		"VA 5 kname f-1 t-1":        {},
		"VA 5 kname fx t-1":         {},
		"VA 5 f0 t-1 x":             {},
		"":                          {},
	} {
		if got, err := parseItem(line); got != want || (err != nil) != (want == item{}) {
			t.Errorf("%q: %+v, %v", line, got, err)
		}
	}
	for line, want := range map[string]string{
		"mg name": "name", "mg bmFtZQ== b": "name", "mg name x": "", "mg": "", "get name": "", "mg % b": "",
	} {
		if got, valid := keyOf(line); string(got) != want || valid != (want != "") {
			t.Errorf("%q: %q, %t", line, got, valid)
		}
	}
	if (item{seconds: 0}).lasting() || !(item{seconds: 1}).lasting() || !(item{seconds: -1}).lasting() {
		t.Error("what ends within this second must not be copied, for it would have no end")
	}
}

// The source may need longer for the rest of a batch than the destination's deadline allows. The method end must still succeed.
func TestEndAfterASlowSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, memcached := net.Pipe()
		d := destination{peer: &peer{
			conn: conn, in: bufio.NewReader(conn), out: bufio.NewWriter(conn), stall: time.Second, release: func() bool { return true },
		}}
		defer d.close()
		must(t, d.patient(0))
		time.Sleep(2 * time.Second)
		go func() {
			if _, err := bufio.NewReader(memcached).ReadString('\n'); err == nil {
				_, _ = memcached.Write([]byte("MN\r\n"))
			}
		}()
		_, err := d.end()
		must(t, err)
	})
}
