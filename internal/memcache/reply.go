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
	// ErrConnectionLimit is memcached's reply to a connection beyond its limit, -c. memcached then closes the connection.
	ErrConnectionLimit = errors.New("memcached is at its connection limit")
	// ErrUnauthenticated is the reply of a memcached with -Y to any command before a login.
	ErrUnauthenticated = errors.New("memcached demands authentication")
	// ErrMalformed stands for all other unexpected replies.
	ErrMalformed = errors.New("unexpected reply")
)

// maxQuoted is how much of an unexpected reply an error quotes.
const maxQuoted = 80

// RefusalError is a reply that is not the result of the command.
type RefusalError struct{ Reply string }

func (e *RefusalError) Error() string {
	if err := e.Unwrap(); !errors.Is(err, ErrMalformed) {
		return err.Error()
	}
	return fmt.Sprintf("%v: %s", ErrMalformed, strconv.QuoteToASCII(e.Reply[:min(len(e.Reply), maxQuoted)]))
}

// Unwrap returns one of the causes above.
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
