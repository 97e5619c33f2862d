// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeMemcached replies with recorded statistics, and stores items.
type fakeMemcached struct {
	// stats are the lines of the replies to "stats" by topic, as memcached 1.6.45 sent them.
	stats map[string][]string
	// different maps names of statistics to values that replace the recorded ones.
	different map[string]string
	// grow are the names of statistics that grow by 5 with each reply.
	grow []string
	// authenticates simulates memcached -Y. keepsItems simulates memcached -F. hangs simulates a memcached that does not answer.
	authenticates, hangs, keepsItems bool

	mutex sync.Mutex
	items map[string]storedItem
	// flushed are the times of all flushes.
	flushed []time.Time
}

// theLogin is the only login that a fakeMemcached accepts.
const theLogin = "web hunter2"

type storedItem struct {
	flags, expiry string
	value         []byte
}

// newMemcached returns a fakeMemcached whose statistics depend on a number.
func newMemcached(t *testing.T, number int) *fakeMemcached {
	t.Helper()
	f := &fakeMemcached{stats: map[string][]string{}, items: map[string]storedItem{}, different: map[string]string{
		"uptime": strconv.Itoa(3600 * number), "curr_items": strconv.Itoa(1000 * number), "bytes": strconv.Itoa(number << 22),
		"get_hits": strconv.Itoa(100 * number), "get_misses": "50", "evictions": strconv.Itoa(7200 * number),
		"curr_connections": strconv.Itoa(10 + number),
	}}
	for _, topic := range append([]string{"general"}, topics...) {
		content, err := os.ReadFile(filepath.Join("testdata", "stats-"+topic+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		f.stats[topic] = strings.Split(strings.TrimSpace(string(content)), "\n")
	}
	return f
}

func (f *fakeMemcached) connect() net.Conn {
	here, there := net.Pipe()
	go f.serve(there)
	return here
}

func (f *fakeMemcached) serve(conn io.ReadWriteCloser) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	loggedIn := !f.authenticates
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		if f.hangs {
			_, _ = io.Copy(io.Discard, in)
			return
		}
		words := strings.Split(strings.TrimSuffix(line, "\r\n"), " ")
		ask := f.reply
		if !loggedIn {
			ask = replyToLogin
		}
		reply, err := ask(in, words)
		loggedIn = loggedIn || reply == "STORED\r\n"
		if err != nil {
			return
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

// replyToLogin replies to a client that has not logged in.
func replyToLogin(in io.Reader, words []string) (string, error) {
	if words[0] != "set" {
		return "CLIENT_ERROR unauthenticated\r\n", nil
	}
	token, err := readValueOf(in, words)
	if string(token) == theLogin {
		return "STORED\r\n", err
	}
	return "CLIENT_ERROR authentication failure\r\n", err
}

// readValueOf reads the value that follows a command such as "set KEY FLAGS EXPIRY SIZE".
func readValueOf(in io.Reader, words []string) ([]byte, error) {
	size, err := strconv.Atoi(words[4])
	if err != nil {
		return nil, err
	}
	value := make([]byte, size+2)
	_, err = io.ReadFull(in, value)
	return value[:size], err
}

func (f *fakeMemcached) reply(in io.Reader, words []string) (string, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	switch words[0] {
	case "version":
		return "VERSION 1.6.45\r\n", nil
	case "stats":
		return f.statistics(words[1:]), nil
	case "set":
		value, err := readValueOf(in, words)
		if err != nil {
			return "", err
		}
		f.items[words[1]] = storedItem{words[2], words[3], value}
		return "STORED\r\n", nil
	case "get":
		item, exists := f.items[words[1]]
		if !exists {
			return "END\r\n", nil
		}
		return fmt.Sprintf("VALUE %s %s %d\r\n%s\r\nEND\r\n", words[1], item.flags, len(item.value), item.value), nil
	case "delete":
		if _, exists := f.items[words[1]]; !exists {
			return "NOT_FOUND\r\n", nil
		}
		delete(f.items, words[1])
		return "DELETED\r\n", nil
	case "flush_all":
		if f.keepsItems {
			return "CLIENT_ERROR flush_all not allowed\r\n", nil
		}
		clear(f.items)
		f.flushed = append(f.flushed, time.Now())
		f.different["curr_items"] = "0"
		return "OK\r\n", nil
	}
	return "ERROR\r\n", nil
}

func (f *fakeMemcached) statistics(topic []string) string {
	var reply strings.Builder
	for _, line := range f.stats[strings.Join(append(topic, "general")[:1], "")] {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if value, differs := f.different[fields[1]]; differs && (len(topic) == 0 || strings.Contains(fields[1], ":")) {
			line = "STAT " + fields[1] + " " + value
		}
		reply.WriteString(strings.TrimSpace(line) + "\r\n")
	}
	for _, name := range f.grow {
		value, _ := strconv.Atoi(f.different[name])
		f.different[name] = strconv.Itoa(value + 5)
	}
	return reply.String() + "END\r\n"
}
