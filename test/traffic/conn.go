// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

// crlf ends each line and each value of the text protocol.
const crlf = "\r\n"

// Conn is a connection to a memcached in the text protocol. It is not safe for concurrent use. The first error closes it.
type Conn struct {
	conn    net.Conn
	replies *bufio.Reader
	address string
}

// Connect returns a connection to the memcached at an address. If there are too many, memcached accepts it and refuses its
// first command: ERROR Too many open connections.
func Connect(ctx context.Context, dial DialFunc, address string) (*Conn, error) {
	conn, err := dial.orDefault()(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return &Conn{conn: conn, replies: bufio.NewReader(conn), address: address}, nil
}

// Close closes the connection.
func (c *Conn) Close() error { return c.conn.Close() }

// Command sends a command and returns its reply, which must be one line. ERROR and CLIENT_ERROR are replies, not errors. A
// value follows its command after "\r\n": "set k 0 0 5\r\nhello".
func (c *Conn) Command(ctx context.Context, command string) (reply string, err error) {
	err = c.within(ctx, command, func() error {
		reply, err = c.ask([]byte(command + crlf))
		return err
	})
	return reply, err
}

// Stats returns the statistics of a topic, such as settings or items, or of the server if there is none. It fails if memcached
// refuses.
func (c *Conn) Stats(ctx context.Context, topic ...string) (map[string]string, error) {
	command := strings.Join(append([]string{"stats"}, topic...), " ")
	stats := map[string]string{}
	err := c.within(ctx, command, func() error {
		line, err := c.ask([]byte(command + crlf))
		for ; err == nil && line != "END"; line, err = c.line() {
			stat, found := strings.CutPrefix(line, "STAT ")
			if !found {
				return fmt.Errorf("the reply is %q", line)
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
	err = c.within(ctx, fmt.Sprintf("gets of %d keys", len(keys)), func() error {
		line, err := c.ask([]byte("gets " + strings.Join(keys, " ") + crlf))
		for ; err == nil; line, err = c.line() {
			fields := strings.Fields(line)
			if len(fields) == 0 || fields[0] != "VALUE" {
				last = line
				return nil
			}
			var size int
			if _, err := fmt.Sscanf(line, "VALUE %s %d %d", new(string), new(uint32), &size); err != nil {
				return fmt.Errorf("the reply is %q", line)
			}
			if _, err := c.replies.Discard(size + len(crlf)); err != nil {
				return err
			}
			hits++
		}
		return err
	})
	return hits, last, err
}

// within runs an exchange that ends with the context. Its error names the address and the command.
func (c *Conn) within(ctx context.Context, command string, exchange func() error) error {
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
	command, _, _ = strings.Cut(command, crlf)
	return fmt.Errorf("%s: %s: %w", c.address, command, err)
}

// ask sends a request and returns the first line of the reply.
func (c *Conn) ask(request []byte) (string, error) {
	_, broken := c.conn.Write(request)
	// memcached reports the reason before it closes a connection, so there may be a line to read after a failed write.
	line, err := c.line()
	if err != nil && broken != nil {
		err = broken
	}
	return line, err
}

// line reads the next line of a reply without its end. No line is longer than the reader's buffer.
func (c *Conn) line() (string, error) {
	line, err := c.replies.ReadSlice('\n')
	return strings.TrimSuffix(string(line), crlf), err
}
