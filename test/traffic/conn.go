// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"context"
	"fmt"

	"github.com/example/memcached-operator/internal/memcache"
)

const crlf = memcache.CRLF

// Conn is a connection to a memcached, in the text protocol. It is not safe for concurrent use.
type Conn = memcache.Conn

// Connect returns a connection to the memcached at an address. It succeeds even if memcached has too many
// connections. The reply to the first command then is "ERROR Too many open connections".
func Connect(ctx context.Context, dial DialFunc, address string) (*Conn, error) {
	conn, err := dial.orDefault()(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return memcache.NewConn(conn, address), nil
}
