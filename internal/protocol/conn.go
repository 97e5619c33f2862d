// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package protocol speaks the text protocol of memcached with one server. It knows nothing of Kubernetes.
package protocol

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// CRLF ends each line and each value.
const CRLF = "\r\n"

// Conn is a connection to a memcached. It is not safe for concurrent use. The first error closes it.
type Conn struct {
	conn    net.Conn
	replies *bufio.Reader
	name    string
}

// NewConn uses a connection, and closes it with itself. Errors begin with the name of the server.
func NewConn(conn net.Conn, name string) *Conn {
	return &Conn{conn: conn, replies: bufio.NewReader(conn), name: name}
}

// Close closes the connection.
func (c *Conn) Close() error { return c.conn.Close() }

// Command sends a command and returns its reply, which must be one line. ERROR and CLIENT_ERROR are replies, not errors. A
// value follows its command after "\r\n": "set k 0 0 5\r\nhello".
func (c *Conn) Command(ctx context.Context, command string) (reply string, err error) {
	err = c.Within(ctx, command, func() error {
		reply, err = c.Ask([]byte(command + CRLF))
		return err
	})
	return reply, err
}

// Stats returns the statistics of a topic, such as settings or items, or of the server if there is none. It fails if memcached
// refuses.
func (c *Conn) Stats(ctx context.Context, topic ...string) (map[string]string, error) {
	command := strings.Join(append([]string{"stats"}, topic...), " ")
	stats := map[string]string{}
	err := c.Within(ctx, command, func() error {
		line, err := c.Ask([]byte(command + CRLF))
		for ; err == nil && line != "END"; line, err = c.Line() {
			stat, found := strings.CutPrefix(line, "STAT ")
			if !found {
				return refusal(line)
			}
			name, value, _ := strings.Cut(stat, " ")
			stats[name] = value
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return stats, nil
}

// Get reads all keys in one request. It returns how many of them memcached has, and the last line of the reply: END, or the
// reason of a refusal.
func (c *Conn) Get(ctx context.Context, keys ...string) (hits int, last string, err error) {
	err = c.Within(ctx, fmt.Sprintf("gets of %d keys", len(keys)), func() error {
		line, err := c.Ask([]byte("gets " + strings.Join(keys, " ") + CRLF))
		for ; err == nil; line, err = c.Line() {
			if !strings.HasPrefix(line, "VALUE ") {
				last = line
				return nil
			}
			size, _, err := valueLine(line)
			if err != nil {
				return err
			}
			if err := c.Discard(size + len(CRLF)); err != nil {
				return err
			}
			hits++
		}
		return err
	})
	return hits, last, err
}

// Value is what memcached stores for a key.
type Value struct {
	Bytes []byte
	Flags uint32
}

// Value reads a key. It returns nil if memcached does not have it, and fails if memcached refuses.
func (c *Conn) Value(ctx context.Context, key string) (value *Value, err error) {
	err = c.Within(ctx, "get", func() error {
		line, err := c.Ask([]byte("get " + key + CRLF))
		if err != nil || line == "END" {
			return err
		}
		size, flags, err := valueLine(line)
		if err != nil {
			return err
		}
		value = &Value{Bytes: make([]byte, size), Flags: flags}
		if _, err := io.ReadFull(c.replies, value.Bytes); err != nil {
			return err
		}
		// The end of the value's line, and the line END.
		return c.Discard(len(CRLF + "END" + CRLF))
	})
	if err != nil {
		return nil, err
	}
	return value, nil
}

// largestValue is the largest item that memcached can be configured to store.
const largestValue = 1 << 30

// valueLine reads the line before a value: "VALUE", the key, its flags and its size, and after gets an identifier. Only an ASCII
// space separates them: the key may have other white space.
func valueLine(line string) (size int, flags uint32, err error) {
	words := strings.Split(line, " ")
	if len(words) < 4 || len(words) > 5 || words[0] != "VALUE" {
		return 0, 0, refusal(line)
	}
	wide, flagsErr := strconv.ParseUint(words[2], 10, 32)
	size, sizeErr := strconv.Atoi(words[3])
	if flagsErr != nil || sizeErr != nil || size < 0 || size > largestValue {
		return 0, 0, refusal(line)
	}
	return size, uint32(wide), nil
}

// RefusalError is a reply that is not the result of the command.
type RefusalError struct{ Reply string }

func (e *RefusalError) Error() string { return fmt.Sprintf("the reply is %q", e.Reply) }

func refusal(line string) error { return &RefusalError{Reply: line} }

// Within runs an exchange that ends with the context. Its error names the server and the command.
func (c *Conn) Within(ctx context.Context, command string, exchange func() error) error {
	// The deadline of an earlier context that ended after its reply may still apply.
	err := c.conn.SetDeadline(time.Time{})
	if err == nil {
		expired := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(expired)
			_ = c.conn.SetDeadline(time.Unix(1, 0)) // it fails only for a closed connection
		})
		err = exchange()
		if !stop() {
			<-expired
		}
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	_ = c.conn.Close() // the caller gets the error above
	command, _, _ = strings.Cut(command, CRLF)
	return fmt.Errorf("%s: %s: %w", c.name, command, err)
}

// Ask sends a request and returns the first line of the reply.
func (c *Conn) Ask(request []byte) (string, error) {
	broken := c.Send(request)
	// memcached reports the reason before it closes a connection, so there may be a line to read after a failed write.
	line, err := c.Line()
	if err != nil && broken != nil {
		err = broken
	}
	return line, err
}

// Send sends a request, or a part of one.
func (c *Conn) Send(request []byte) error {
	_, err := c.conn.Write(request)
	return err
}

// Line reads the next line of a reply without its end. No line is longer than the reader's buffer.
func (c *Conn) Line() (string, error) {
	line, err := c.replies.ReadSlice('\n')
	return strings.TrimSuffix(string(line), CRLF), err
}

// Discard skips bytes of a reply.
func (c *Conn) Discard(size int) error {
	_, err := c.replies.Discard(size)
	return err
}
