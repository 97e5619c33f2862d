// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcache

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
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

// maxStats is the largest accepted reply to a "stats" command, in bytes. It is more than twice as large as the replies of a memcached
// with all 63 slab classes.
const maxStats = 256 << 10

// Stats sends "stats", followed by the topic, such as "settings", if there is one. It returns the values in the reply by their names,
// or an error if memcached refuses.
func (c *Conn) Stats(ctx context.Context, topic ...string) (map[string]string, error) {
	command := strings.Join(append([]string{"stats"}, topic...), " ")
	stats := map[string]string{}
	err := c.Within(ctx, command, func() error {
		line, err := c.Ask([]byte(command + CRLF))
		for left := maxStats; err == nil && line != "END"; line, err = c.Line() {
			stat, found := strings.CutPrefix(line, "STAT ")
			if !found {
				return refusal(line)
			}
			if left -= len(line) + len(CRLF); left < 0 {
				return fmt.Errorf("%w: more than %d bytes", ErrMalformed, maxStats)
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

// DemandsLogin reports whether memcached demands a login on this connection. It sends "version": this command is cheap, and memcached
// answers it only while its worker threads work.
func (c *Conn) DemandsLogin(ctx context.Context) (demanded bool, err error) {
	err = c.Within(ctx, "version", func() error {
		line, err := c.Ask([]byte("version" + CRLF))
		if err != nil || line == "ERROR" || strings.HasPrefix(line, "VERSION ") {
			return err
		}
		if err := refusal(line); !errors.Is(err, ErrUnauthenticated) {
			return err
		}
		demanded = true
		return nil
	})
	return demanded, err
}

// LogIn logs in, and reports whether memcached accepts the user. If not, LogIn can be called again. Call LogIn only if memcached
// demands a login, because a memcached without users would store the password as a value.
func (c *Conn) LogIn(ctx context.Context, name, password string) (accepted bool, err error) {
	err = c.Within(ctx, "login", func() error {
		token := name + " " + password
		line, err := c.Ask(fmt.Appendf(nil, "set login 0 0 %d\r\n%s\r\n", len(token), token)) // memcached ignores the key
		switch {
		case err != nil:
			return err
		case line == "STORED":
			accepted = true
		case line != "CLIENT_ERROR authentication failure":
			return refusal(line)
		}
		return nil
	})
	return accepted, err
}
