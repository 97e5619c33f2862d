// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package fill

import (
	"bufio"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// The source may need longer for the rest of a batch than the destination's deadline allows. The method end must still succeed.
func TestEndAfterASlowSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, memcached := net.Pipe()
		d := destination{peer: &peer{
			conn: conn, in: bufio.NewReader(conn), out: bufio.NewWriter(conn), stall: time.Second, release: func() bool { return true },
		}}
		defer d.close()
		must(t, d.patient(0))
		time.Sleep(2 * time.Second)
		go func() {
			if _, err := bufio.NewReader(memcached).ReadString('\n'); err == nil {
				_, _ = memcached.Write([]byte("MN\r\n"))
			}
		}()
		_, err := d.end()
		must(t, err)
	})
}
