// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"fmt"
	"strconv"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcache"
)

const (
	mebibyte = 1 << 20
	// lastClass is memcached's largest slab class (memcached.h of 1.6.45).
	lastClass = 63
	// sparePages is how many free pages a slab class may keep. maxPages is the largest number of pages to take from a class at once.
	sparePages = 2.5
	maxPages   = 10
)

// reclaim takes free pages from slab classes, so that items of other sizes can use them. memcached does so itself once it has allocated
// all of its memory (slab_automove.c of 1.6.45). But it does not count the memory of items that it has read from a file at its start.
// Until memcached's count (total_malloced) reaches -m, reclaim therefore takes the pages.
func reclaim(ctx context.Context, address string, list protocol.List) error {
	if !list.InFile() {
		return nil
	}
	return ask(ctx, address, list, func(ctx context.Context, conn *memcache.Conn) error {
		stats, err := conn.Stats(ctx, "slabs")
		if err != nil {
			return err
		}
		memory, err := strconv.ParseInt(list.Value("-m"), 10, 64)
		if err != nil || number(stats, "total_malloced") >= memory*mebibyte {
			return err
		}
		for class := 1; class <= lastClass; class++ {
			if err := reassign(ctx, conn, class, free(stats, class)); err != nil {
				return err
			}
		}
		return nil
	})
}

// free returns the number of free pages to take from a slab class. A result of zero or less means none.
func free(stats map[string]string, class int) int {
	prefix := strconv.Itoa(class) + ":"
	chunks, perPage := number(stats, prefix+"free_chunks"), number(stats, prefix+"chunks_per_page")
	if perPage == 0 {
		return 0
	}
	return min(int(float64(chunks)/float64(perPage)-sparePages), maxPages)
}

// reassign moves pages from a slab class to the pages that all classes share. It stops when memcached refuses: memcached moves one page
// at a time, and refuses further requests meanwhile.
func reassign(ctx context.Context, conn *memcache.Conn, class, pages int) error {
	for range pages {
		reply, err := conn.Command(ctx, fmt.Sprintf("slabs reassign %d 0", class))
		if err != nil || reply != "OK" {
			return err
		}
	}
	return nil
}

// number returns the value of a statistic, 0 if it is absent.
func number(stats map[string]string, name string) int64 {
	value, err := strconv.ParseInt(stats[name], 10, 64)
	if err != nil {
		return 0
	}
	return value
}
