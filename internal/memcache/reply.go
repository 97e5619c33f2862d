// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcache

import (
	"errors"
	"fmt"
	"strconv"
)

// Causes of a RefusalError.
var (
	// ErrConnectionLimit is memcached's reply to a connection beyond its limit, option -c. memcached then closes the connection.
	ErrConnectionLimit = errors.New("memcached is at its connection limit")
	// ErrUnauthenticated is the reply of a memcached with users, option -Y, to any command before a login.
	ErrUnauthenticated = errors.New("memcached demands authentication")
	// ErrMalformed is any other unexpected reply.
	ErrMalformed = errors.New("unexpected reply")
)

// maxQuoted is how many bytes of an unexpected reply an error quotes.
const maxQuoted = 80

// RefusalError is an unexpected line of a reply, such as an error message of memcached.
type RefusalError struct{ Reply string }

func (e *RefusalError) Error() string {
	if err := e.Unwrap(); !errors.Is(err, ErrMalformed) {
		return err.Error()
	}
	return fmt.Sprintf("%v: %s", ErrMalformed, strconv.QuoteToASCII(e.Reply[:min(len(e.Reply), maxQuoted)]))
}

// Unwrap returns ErrConnectionLimit, ErrUnauthenticated or ErrMalformed.
func (e *RefusalError) Unwrap() error {
	switch e.Reply {
	case "ERROR Too many open connections":
		return ErrConnectionLimit
	case "CLIENT_ERROR unauthenticated":
		return ErrUnauthenticated
	default:
		return ErrMalformed
	}
}

func refusal(line string) error { return &RefusalError{Reply: line} }
