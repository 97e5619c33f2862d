// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcache

import (
	"context"
	"fmt"
	"strings"
)

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
