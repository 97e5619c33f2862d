// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
)

// udpVersion is the version command with the header of a datagram: the request ID, the sequence number, the number of
// datagrams, and zero, each as a big-endian uint16.
const udpVersion = "\x12\x34\x00\x00\x00\x01\x00\x00version\r\n"

// AnswersUDP reports whether memcached responds on the UDP port of an address. It does not if the port is closed, or if no
// response arrives before the deadline of the context, which is required. A lost datagram counts as no response.
func AnswersUDP(ctx context.Context, address string) (bool, error) {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return false, errors.New("the context must have a deadline")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", address)
	if err != nil {
		return false, fmt.Errorf("%s: UDP: %w", address, err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(deadline); err != nil {
		return false, fmt.Errorf("%s: UDP: %w", address, err)
	}
	// A context may also end before its deadline.
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	reply := make([]byte, 1500)
	size := 0
	if _, err = conn.Write([]byte(udpVersion)); err == nil {
		size, err = conn.Read(reply)
	}
	const id = 2
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, os.ErrDeadlineExceeded):
		return false, nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return false, nil
	case ctx.Err() != nil:
		return false, fmt.Errorf("%s: UDP: %w", address, context.Cause(ctx))
	case err != nil:
		return false, fmt.Errorf("%s: UDP: %w", address, err)
	case !strings.HasPrefix(string(reply[:size]), udpVersion[:id]):
		return false, fmt.Errorf("%s: UDP: %q is no reply of memcached", address, reply[:size])
	}
	return true, nil
}
