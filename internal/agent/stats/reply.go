// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Requests, as memcached expects them.
const (
	// Requests asks for all statistics in one write. stats conns is not among them: it contains the addresses of clients, and its
	// reply grows with their number.
	Requests = "stats\r\n" + "stats settings\r\n" + "stats items\r\n" + "stats slabs\r\n"
	// VersionRequest is the cheapest question that a worker thread of memcached has to answer.
	VersionRequest = "version\r\n"
)

const (
	// maxLine is far more than memcached's longest line, which contains a file name.
	maxLine = 4 << 10
	// maxReplies limits the four replies together. With all of its 63 slab classes, memcached sends some 120 KiB.
	maxReplies = 256 << 10
	// maxQuoted is how much of an unexpected line an error quotes.
	maxQuoted = 40
)

// Errors that are replies.
var (
	// ErrConnectionLimit is the reply to a connection beyond maxConnections, which memcached then closes.
	ErrConnectionLimit = errors.New("memcached is at its connection limit")
	// ErrUnauthenticated is the reply of a memcached that demands authentication.
	ErrUnauthenticated = errors.New("memcached demands authentication")
	// ErrMalformed is a reply that memcached does not send.
	ErrMalformed = errors.New("unexpected reply")
)

// NewReader returns a reader for the functions below.
func NewReader(replies io.Reader) *bufio.Reader {
	return bufio.NewReaderSize(replies, maxLine)
}

// ReadVersion reads the reply to VersionRequest. A refusal for lack of authentication is an answer, too.
func ReadVersion(replies *bufio.Reader) error {
	_, err := ReadLoginDemand(replies)
	return err
}

// ReadLoginDemand reads the reply to VersionRequest as well, and reports whether memcached demands a login.
func ReadLoginDemand(replies *bufio.Reader) (bool, error) {
	line, err := ReadLine(replies)
	if err != nil {
		return false, err
	}
	if strings.HasPrefix(line, "VERSION ") || line == "ERROR" {
		return false, nil
	}
	if err := Refusal(line); !errors.Is(err, ErrUnauthenticated) {
		return false, err
	}
	return true, nil
}

// Read reads the replies to Requests.
func Read(replies *bufio.Reader) (*Stats, error) {
	s := &Stats{
		General: map[string]string{}, Settings: map[string]string{},
		Items: map[int]map[string]string{}, Slabs: map[int]map[string]string{},
	}
	left := maxReplies
	for _, store := range []func(name, value string) error{s.storeGeneral, s.storeSetting, s.storeItems, s.storeSlabs} {
		var err error
		if left, err = readReply(replies, left, store); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// readReply stores each line of a reply, and returns how many bytes are left of the limit.
func readReply(replies *bufio.Reader, left int, store func(name, value string) error) (int, error) {
	for {
		line, err := ReadLine(replies)
		if err != nil {
			return 0, err
		}
		if left -= len(line) + len("\r\n"); left < 0 {
			return 0, fmt.Errorf("%w: more than %d bytes", ErrMalformed, maxReplies)
		}
		if line == "END" {
			return left, nil
		}
		stat, found := strings.CutPrefix(line, "STAT ")
		if !found {
			return 0, Refusal(line)
		}
		name, value, _ := strings.Cut(stat, " ")
		if err := store(name, value); err != nil {
			return 0, err
		}
	}
}

// ReadLine reads a line, without its end.
func ReadLine(replies *bufio.Reader) (string, error) {
	line, err := replies.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", fmt.Errorf("%w: a line of more than %d bytes", ErrMalformed, len(line))
	}
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"), nil
}

// Refusal is the error that a line means where memcached should have sent something else.
func Refusal(line string) error {
	switch line {
	case "ERROR Too many open connections":
		return ErrConnectionLimit
	case "CLIENT_ERROR unauthenticated":
		return ErrUnauthenticated
	default:
		return fmt.Errorf("%w: %s", ErrMalformed, strconv.QuoteToASCII(line[:min(len(line), maxQuoted)]))
	}
}
