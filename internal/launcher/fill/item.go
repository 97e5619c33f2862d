// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package fill

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// item is what memcached says of an item before its value.
type item struct {
	// key is as it was sent: binary ones in base64.
	key    string
	binary bool
	flags  uint32
	// seconds are how long it has left, -1 for ever.
	seconds int64
	// stale says that a client has marked it so, and fetches it again.
	stale bool
	size  int64
}

// parseItem reads a line such as "VA 5 kname f0 t-1", whose last words depend on the item.
func parseItem(line string) (item, error) {
	words := strings.Split(line, " ")
	if len(words) < 5 || words[0] != "VA" {
		return item{}, unexpected(line)
	}
	size, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil || size < 0 {
		return item{}, unexpected(line)
	}
	found := item{size: size}
	for _, word := range words[2:] {
		if err := readWord(word, &found); err != nil {
			return item{}, unexpected(line)
		}
	}
	if found.key == "" {
		return item{}, unexpected(line)
	}
	return found, nil
}

// readWord sets what one of the last words says. The first letter is its name.
func readWord(word string, found *item) (err error) {
	switch word[:min(len(word), 1)] {
	case "k":
		found.key = word[1:]
	case "f":
		var flags uint64
		flags, err = strconv.ParseUint(word[1:], 10, 32)
		found.flags = uint32(flags)
	case "t":
		found.seconds, err = strconv.ParseInt(word[1:], 10, 64)
	case "b":
		found.binary = true
	case "X":
		found.stale = true
	}
	return err
}

// lasting reports whether an item is worth a copy. With 0 seconds left it must not be copied: 0 would mean that it never expires.
func (i item) lasting() bool { return i.seconds != 0 && !i.stale }

// longestRelative is the longest time that memcached takes for a number of seconds from now, and not for a point in time.
const longestRelative = 30 * 24 * 60 * 60

// request is the request to add the item, without its value.
func (i item) request(now time.Time) string {
	expiry := int64(0)
	switch {
	case i.seconds > longestRelative:
		expiry = now.Unix() + i.seconds
	case i.seconds > 0:
		expiry = i.seconds
	}
	binary := ""
	if i.binary {
		binary = " b"
	}
	return fmt.Sprintf("ms %s %d%s F%d T%d ME q%s", i.key, i.size, binary, i.flags, expiry, crlf)
}

// keyOf is the key in a line of a dump, as clients know it: "mg name", or "mg bmFtZQ== b".
func keyOf(line string) (key []byte, valid bool) {
	words := strings.Split(line, " ")
	switch {
	case len(words) == 2 && words[0] == "mg":
		return []byte(words[1]), true
	case len(words) == 3 && words[0] == "mg" && words[2] == "b":
		key, err := base64.StdEncoding.DecodeString(words[1])
		return key, err == nil
	default:
		return nil, false
	}
}
