// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/example/memcached-operator/internal/memcache"
)

// Get reads several keys in one request. It returns how many of them memcached has, and the last line of the reply: "END", or why
// memcached refused.
func Get(ctx context.Context, c *Conn, keys ...string) (hits int, last string, err error) {
	err = c.Within(ctx, fmt.Sprintf("gets of %d keys", len(keys)), func() error {
		line, err := c.Ask([]byte("gets " + strings.Join(keys, " ") + crlf))
		for ; err == nil; line, err = c.Line() {
			if !strings.HasPrefix(line, "VALUE ") {
				last = line
				return nil
			}
			size, _, err := valueLine(line)
			if err != nil {
				return err
			}
			if err := c.Discard(size + len(crlf)); err != nil {
				return err
			}
			hits++
		}
		return err
	})
	return hits, last, err
}

// Value is what memcached stores for a key.
type Value struct {
	Bytes []byte
	Flags uint32
}

// Read reads the value of a key. It returns nil if memcached does not have the key, and an error if memcached refuses.
func Read(ctx context.Context, c *Conn, key string) (value *Value, err error) {
	err = c.Within(ctx, "get", func() error {
		line, err := c.Ask([]byte("get " + key + crlf))
		if err != nil || line == "END" {
			return err
		}
		size, flags, err := valueLine(line)
		if err != nil {
			return err
		}
		value = &Value{Bytes: make([]byte, size), Flags: flags}
		if err := c.Read(value.Bytes); err != nil {
			return err
		}
		// The line end after the value, and the line "END".
		return c.Discard(len(crlf + "END" + crlf))
	})
	if err != nil {
		return nil, err
	}
	return value, nil
}

// largestValue is the largest item size, in bytes, that memcached's option -I can allow.
const largestValue = 1 << 30

// valueLine parses the line before a value: "VALUE", the key, the flags, the size and, in the reply to "gets", an identifier. Only an
// ASCII space separates words: a key may contain other white space.
func valueLine(line string) (size int, flags uint32, err error) {
	words := strings.Split(line, " ")
	if len(words) < 4 || len(words) > 5 || words[0] != "VALUE" {
		return 0, 0, &memcache.RefusalError{Reply: line}
	}
	wide, flagsErr := strconv.ParseUint(words[2], 10, 32)
	size, sizeErr := strconv.Atoi(words[3])
	if flagsErr != nil || sizeErr != nil || size < 0 || size > largestValue {
		return 0, 0, &memcache.RefusalError{Reply: line}
	}
	return size, uint32(wide), nil
}
