// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// The command accepts "fill N" and "read N" as driver.py does. It is compiled together with the code of docs/clients.md.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/bradfitz/gomemcache/memcache"
)

func main() {
	cache, err := newCache(context.Background(), os.Getenv("MEMCACHED_SERVICE"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for {
		var command string
		var keys int
		if _, err := fmt.Scan(&command, &keys); err != nil {
			return
		}
		succeeded, failed, first := 0, 0, ""
		for number := range keys {
			done, err := use(cache, command, fmt.Sprintf("key-%06d", number+1))
			if done {
				succeeded++
			}
			if err != nil {
				failed++
				first = cmp.Or(first, err.Error())
			}
		}
		fmt.Println(succeeded, failed, first)
	}
}

func use(cache *memcache.Client, command, key string) (bool, error) {
	if command == "fill" {
		err := cache.Set(&memcache.Item{Key: key, Value: []byte("value"), Expiration: 600})
		return err == nil, err
	}
	item, err := cache.Get(key)
	if errors.Is(err, memcache.ErrCacheMiss) {
		return false, nil
	}
	return err == nil && string(item.Value) == "value", err
}
