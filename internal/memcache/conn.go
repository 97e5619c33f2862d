// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package memcache is a client of memcached's text protocol. It knows nothing of Kubernetes.
package memcache

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// CRLF ends each line and each value.
const CRLF = "\r\n"

// maxLine is the longest accepted line, in bytes. memcached's longest line, which contains a file name, is far shorter.
const maxLine = 4 << 10

// Conn is a connection to a memcached. It is not safe for concurrent use. The method Within closes the connection after an error, and
// so do the methods that call Within.
type Conn struct {
	conn    net.Conn
	replies *bufio.Reader
	name    string
}

// NewConn returns a Conn that owns the connection. Errors begin with the name of the server, unless the name is empty.
func NewConn(conn net.Conn, name string) *Conn {
	return &Conn{conn: conn, replies: bufio.NewReaderSize(conn, maxLine), name: name}
}

// Dial connects to the memcached at a TCP address. Errors of the Conn do not name the address.
func Dial(ctx context.Context, address string) (*Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return NewConn(conn, ""), nil
}

// Close closes the connection.
func (c *Conn) Close() error { return c.conn.Close() }

// Command sends a command and returns its reply, which must be one line. A line such as CLIENT_ERROR is a reply, not an error. A value
// follows its command after "\r\n", as in "set k 0 0 5\r\nhello".
func (c *Conn) Command(ctx context.Context, command string) (reply string, err error) {
	name, _, _ := strings.Cut(command, CRLF)
	err = c.Within(ctx, name, func() error {
		reply, err = c.Ask([]byte(command + CRLF))
		return err
	})
	return reply, err
}

// Within runs an exchange of requests and replies. When the context ends, reads and writes of the exchange fail. The exchange must
// read its replies completely, or else Within returns an error. All errors of Within name the command.
func (c *Conn) Within(ctx context.Context, command string, exchange func() error) error {
	// The deadline of an earlier context may still be set.
	err := c.conn.SetDeadline(time.Time{})
	if err == nil {
		expired := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(expired)
			_ = c.conn.SetDeadline(time.Unix(1, 0)) // this fails only for a closed connection
		})
		err = exchange()
		if !stop() {
			<-expired
		}
	}
	if left := c.replies.Buffered(); err == nil && left > 0 {
		err = fmt.Errorf("%w: %d bytes too many", ErrMalformed, left) // the next exchange would read them as its reply
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	_ = c.conn.Close()
	err = fmt.Errorf("%s: %w", command, err)
	if c.name != "" {
		err = fmt.Errorf("%s: %w", c.name, err)
	}
	return err
}

// Ask sends a request and returns the first line of the reply.
func (c *Conn) Ask(request []byte) (string, error) {
	broken := c.Send(request)
	// memcached sends a reason before it closes a connection, so a line may arrive even if the write failed.
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

// Line reads the next line of a reply, and returns it without the line end.
func (c *Conn) Line() (string, error) {
	line, err := c.replies.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", fmt.Errorf("%w: a line of more than %d bytes", ErrMalformed, maxLine)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"), err
}

// Read fills the slice with bytes of a reply.
func (c *Conn) Read(bytes []byte) error {
	_, err := io.ReadFull(c.replies, bytes)
	return err
}

// Discard skips size bytes of a reply.
func (c *Conn) Discard(size int) error {
	_, err := c.replies.Discard(size)
	return err
}
