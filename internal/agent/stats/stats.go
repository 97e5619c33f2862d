// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/example/memcached-operator/internal/memcache"
)

// Stats are the statistics of a node, under memcached's names.
type Stats struct {
	// General is the reply to "stats", and the part of the reply to "stats slabs" that is not about a single slab class.
	General map[string]string
	// Settings is the reply to "stats settings".
	Settings map[string]string
	// Items and Slabs are the replies to "stats items" and "stats slabs", by slab class.
	Items, Slabs map[int]map[string]string
}

// Read reads the statistics of a node. It does not send "stats conns", because the reply contains the addresses of clients, and grows
// with their number.
func Read(ctx context.Context, conn *memcache.Conn) (*Stats, error) {
	var replies [4]map[string]string
	for i, topic := range [len(replies)][]string{{}, {"settings"}, {"items"}, {"slabs"}} {
		var err error
		if replies[i], err = conn.Stats(ctx, topic...); err != nil {
			return nil, err
		}
	}
	s := &Stats{General: replies[0], Settings: replies[1], Items: map[int]map[string]string{}, Slabs: map[int]map[string]string{}}
	for name, value := range replies[2] { // such as items:3:number
		if err := storeByClass(s.Items, strings.TrimPrefix(name, "items:"), value); err != nil {
			return nil, err
		}
	}
	for name, value := range replies[3] { // such as 3:chunk_size, or active_slabs
		if !strings.Contains(name, ":") {
			s.General[name] = value
		} else if err := storeByClass(s.Slabs, name, value); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func storeByClass(classes map[int]map[string]string, name, value string) error {
	number, stat, _ := strings.Cut(name, ":")
	class, err := strconv.ParseUint(number, 10, 8)
	if err != nil {
		return fmt.Errorf("%w: slab class %s", memcache.ErrMalformed, quoted(number))
	}
	if classes[int(class)] == nil {
		classes[int(class)] = map[string]string{}
	}
	classes[int(class)][stat] = value
	return nil
}

// quoted quotes at most 40 bytes of a text from memcached.
func quoted(text string) string {
	const most = 40
	return strconv.QuoteToASCII(text[:min(len(text), most)])
}
