// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic_test

import (
	"bufio"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// fake is a memcached with the part of the text protocol that the tests need. While it runs, the mutex lock guards its fields.
type fake struct {
	memory, itemMax int // the limits of -m and -I, in bytes; only values use up memory
	maxConns        int // the limit of open connections; 0 means no limit
	maxKeys         int // the limit of keys in a gets command; 0 means no limit
	// refuse returns the reply to a set that fails, or "" if the set succeeds.
	refuse func(key string, size int) string

	address  string
	listener net.Listener

	lock      sync.Mutex
	conns     map[net.Conn]int // how many sets and mg requests each had
	most      int              // the highest number of connections open at the same time
	items     map[string]item
	order     []string // keys, the oldest first
	used      int
	evictions int
	sets      int
	largest   int
	contents  uint32 // a checksum of all keys and sizes, whatever their order
}

type item struct {
	flags string
	value []byte
}

// start runs the server until the test ends.
func (f *fake) start(t *testing.T) *fake {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.listener, f.address = listener, listener.Addr().String()
	f.items, f.conns = map[string]item{}, map[net.Conn]int{}
	var running sync.WaitGroup
	running.Go(func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			if f.admit(conn) {
				running.Go(func() { f.serve(conn) })
			}
		}
	})
	t.Cleanup(func() {
		f.stop()
		running.Wait()
	})
	return f
}

func (f *fake) stop() {
	f.listener.Close()
	f.hangUp()
}

func (f *fake) hangUp() {
	f.lock.Lock()
	defer f.lock.Unlock()
	for conn := range f.conns {
		conn.Close()
	}
}

func (f *fake) admit(conn net.Conn) bool {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.maxConns > 0 && len(f.conns) >= f.maxConns {
		fmt.Fprint(conn, "ERROR Too many open connections\r\n")
		conn.Close()
		return false
	}
	f.conns[conn] = 0
	f.most = max(f.most, len(f.conns))
	return true
}

func (f *fake) serve(conn net.Conn) {
	defer func() {
		f.lock.Lock()
		defer f.lock.Unlock()
		delete(f.conns, conn)
		conn.Close()
	}()
	in, out := bufio.NewReader(conn), bufio.NewWriter(conn)
	for {
		line, err := in.ReadString('\n')
		words := strings.Fields(line)
		if err != nil || len(words) == 0 || f.reply(conn, in, out, words) != nil {
			return
		}
		if in.Buffered() == 0 && out.Flush() != nil {
			return
		}
	}
}

func (f *fake) reply(conn net.Conn, in io.Reader, out io.Writer, words []string) error {
	f.lock.Lock()
	defer f.lock.Unlock()
	switch words[0] {
	case "set": // key flags exptime size
		reply, err := f.store(conn, in, words[1], words[2], words[4])
		if reply == "" {
			reply = "STORED\r\n"
		}
		fmt.Fprint(out, reply)
		return err
	case "ms": // key size q
		reply, err := f.store(conn, in, words[1], "0", words[2])
		fmt.Fprint(out, reply)
		return err
	case "get":
		if found, ok := f.items[words[1]]; ok {
			fmt.Fprintf(out, "VALUE %s %s %d\r\n%s\r\n", words[1], found.flags, len(found.value), found.value)
		}
		fmt.Fprint(out, "END\r\n")
	case "gets":
		if f.maxKeys > 0 && len(words) > f.maxKeys+1 {
			fmt.Fprint(out, "SERVER_ERROR out of memory writing get response\r\n")
			return nil
		}
		for _, key := range words[1:] {
			if found, ok := f.items[key]; ok {
				fmt.Fprintf(out, "VALUE %s %s %d 1\r\n%s\r\n", key, found.flags, len(found.value), found.value)
			}
		}
		fmt.Fprint(out, "END\r\n")
	case "mg": // key v
		f.conns[conn]++
		if found, ok := f.items[words[1]]; ok {
			fmt.Fprintf(out, "VA %d\r\n%s\r\n", len(found.value), found.value)
		} else {
			fmt.Fprint(out, "EN\r\n")
		}
	case "mn":
		fmt.Fprint(out, "MN\r\n")
	case "version":
		fmt.Fprint(out, "VERSION 1.6.45\r\n")
	case "flush_all":
		fmt.Fprint(out, "CLIENT_ERROR flush_all not allowed\r\n")
	case "stats":
		f.stats(out, strings.Join(words[1:], " "))
	default:
		fmt.Fprint(out, "ERROR\r\n")
	}
	return nil
}

func (f *fake) stats(out io.Writer, topic string) {
	switch topic {
	case "":
		fmt.Fprintf(out, "STAT version 1.6.45\r\nSTAT evictions %d\r\nEND\r\n", f.evictions)
	case "settings":
		fmt.Fprintf(out, "STAT maxbytes %d\r\nSTAT item_size_max %d\r\nSTAT inter \r\nEND\r\n", f.memory, f.itemMax)
	default:
		fmt.Fprintf(out, "CLIENT_ERROR stats %s not allowed\r\n", topic)
	}
}

// store reads a value. It returns "" if it stores the value, else the reply.
func (f *fake) store(conn net.Conn, in io.Reader, key, flags, size string) (string, error) {
	length, err := strconv.Atoi(size)
	if err != nil {
		return "", err
	}
	value := make([]byte, length+2)
	f.lock.Unlock() // a client may send the value late
	_, err = io.ReadFull(in, value)
	f.lock.Lock()
	if err != nil || string(value[length:]) != "\r\n" {
		return "CLIENT_ERROR bad data chunk\r\n", err
	}
	f.conns[conn]++
	f.sets++
	f.largest = max(f.largest, length)
	f.contents += crc32.ChecksumIEEE([]byte(key + " " + size))
	if f.refuse != nil {
		if reply := f.refuse(key, length); reply != "" {
			return reply, nil
		}
	}
	if _, known := f.items[key]; !known {
		f.order = append(f.order, key)
	}
	f.used += length - len(f.items[key].value)
	f.items[key] = item{flags: flags, value: value[:length]}
	for f.memory > 0 && f.used > f.memory {
		f.used -= len(f.items[f.order[0]].value)
		delete(f.items, f.order[0])
		f.order = f.order[1:]
		f.evictions++
	}
	return "", nil
}
