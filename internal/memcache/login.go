// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcache

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

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
