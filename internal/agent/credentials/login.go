// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/example/memcached-operator/internal/agent/stats"
)

// errNoLogin means that memcached admits everybody.
var errNoLogin = errors.New("memcached demands no login")

// Replies to a login.
const (
	loginAccepted = "STORED"
	loginRefused  = "CLIENT_ERROR authentication failure"
)

// LogIn logs a connection in as the first of the users that memcached accepts. If memcached demands no login, or none any more, it
// does nothing. The deadline of the connection is the caller's.
func LogIn(conn io.Writer, replies *bufio.Reader, users []User) error {
	if err := expectLogin(conn, replies); errors.Is(err, errNoLogin) {
		return nil
	} else if err != nil {
		return err
	}
	for _, user := range users {
		accepted, err := logIn(conn, replies, user)
		if accepted || err != nil {
			return err
		}
	}
	return stats.ErrUnauthenticated
}

// expectLogin fails unless memcached demands a login. To another one, a login is a value to store, and the password would be in the
// cache.
func expectLogin(conn io.Writer, replies *bufio.Reader) error {
	_, _ = io.WriteString(conn, stats.VersionRequest) // reading fails as well, or says why: see stats.ErrConnectionLimit
	demanded, err := stats.ReadLoginDemand(replies)
	if err == nil && !demanded {
		return errNoLogin
	}
	return err
}

// logIn logs in after expectLogin. It may be tried again after a refusal.
func logIn(conn io.Writer, replies *bufio.Reader, user User) (accepted bool, err error) {
	const key = "login" // any
	token := user.name + " " + user.password
	_, _ = fmt.Fprintf(conn, "set %s 0 0 %d\r\n%s\r\n", key, len(token), token) // the same
	switch line, err := stats.ReadLine(replies); {
	case err != nil:
		return false, err
	case line == loginAccepted:
		return true, nil
	case line == loginRefused:
		return false, nil
	default:
		return false, stats.Refusal(line)
	}
}
