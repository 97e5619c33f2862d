// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package fill

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

const (
	crlf = "\r\n"
	// bufferSize is the size of each buffer in bytes, far more than memcached's longest line.
	bufferSize = 32 << 10
)

type peer struct {
	conn  net.Conn
	in    *bufio.Reader
	out   *bufio.Writer
	stall time.Duration
	// release prevents the end of the context from closing conn.
	release func() bool
}

// dial connects within the time stall. The connection closes when the context ends.
func dial(ctx context.Context, address string, stall time.Duration) (*peer, error) {
	dialing, cancel := context.WithTimeout(ctx, stall)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(dialing, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &peer{
		conn: conn, in: bufio.NewReaderSize(conn, bufferSize), out: bufio.NewWriterSize(conn, bufferSize), stall: stall,
		release: context.AfterFunc(ctx, func() { _ = conn.Close() }), // an error means that it is closed already
	}, nil
}

func (p *peer) close() {
	p.release()
	_ = p.conn.Close() // an error does not matter, because nothing more is sent or read
}

// slowest is the minimum speed of a peer, in bytes per second.
const slowest = 4 << 20

// patient sets the deadline of the next exchange. size is the size of the value in the exchange: a larger value gets more time.
func (p *peer) patient(size int64) error {
	return p.conn.SetDeadline(time.Now().Add(p.stall + time.Duration(size/slowest)*time.Second))
}

// line reads a line, and returns it without the line end. A line may contain line feeds: memcached lists keys as they are, and clients
// with the binary protocol can store any bytes in keys.
func (p *peer) line() (string, error) {
	line := ""
	for !strings.HasSuffix(line, crlf) {
		part, err := p.in.ReadSlice('\n')
		if err != nil {
			return "", err
		}
		if line += string(part); len(line) > bufferSize {
			return "", unexpected(line)
		}
	}
	return strings.TrimSuffix(line, crlf), nil
}

// ask sends a command, and returns the first line of the answer.
func (p *peer) ask(command string) (string, error) {
	if _, err := p.conn.Write([]byte(command + crlf)); err != nil {
		return "", err
	}
	return p.line()
}

// complete sends what was written, followed by the command mn. memcached answers mn last, so the answer marks the end.
func (p *peer) complete() error {
	if err := p.patient(0); err != nil {
		return err
	}
	if _, err := p.out.WriteString("mn" + crlf); err != nil {
		return err
	}
	return p.out.Flush()
}

// rest reads lines up to and including the answer to mn.
func (p *peer) rest() error {
	line, err := p.line()
	for err == nil && line != "MN" {
		line, err = p.line()
	}
	return err
}

// errAnswer means that an answer does not follow the protocol.
var errAnswer = errors.New("unexpected answer")

func unexpected(line string) error {
	const most = 80
	return fmt.Errorf("%w: %s", errAnswer, strconv.QuoteToASCII(line[:min(len(line), most)]))
}
