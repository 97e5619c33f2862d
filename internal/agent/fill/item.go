// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package fill

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// item is the parsed line that memcached sends before a value.
type item struct {
	// key is the key as memcached sent it. A binary key is in base64.
	key    string
	binary bool
	flags  uint32
	// seconds is the remaining lifetime of the item, -1 if it is unlimited.
	seconds int64
	// cas is the CAS number, which changes with each write. The copy keeps it, so that a client's "cas" means the same in both memcacheds.
	cas string
	// stale reports that a client has marked the item as stale. won reports that this answer carries the token: memcached gives it to
	// one reader of a stale item, which must store the item again. claimed reports that the token was given away before.
	stale, won, claimed bool
	size                int64
}

// parseItem parses a line such as "VA 5 kname f0 t-1". More words may follow.
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

// readWord parses a word after the size. The first letter of the word says what the word means.
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
	case "c":
		found.cas = word[1:]
	case "s":
		found.size, err = strconv.ParseInt(word[1:], 10, 64)
	case "X":
		found.stale = true
	case "W":
		found.won = true
	case "Z":
		found.claimed = true
	}
	return err
}

// lasting reports whether to copy an item. It leaves out stale items, and claimed items without a value. It also leaves out items
// that expire within this second, because a copy with a lifetime of 0 would never expire.
func (i item) lasting() bool { return i.seconds != 0 && !i.stale && (i.size > 0 || !i.claimed) }

// release returns the request that gives the token back. The request keeps the CAS value, and does nothing if the item has changed.
func (i item) release() string {
	return fmt.Sprintf("md %s%s I q C%s E%s%s", i.key, i.base64(), i.cas, i.cas, crlf)
}

// question returns the request that shows whether the item has changed in the source. The request does not affect the order of
// eviction.
func (i item) question() string { return fmt.Sprintf("mg %s%s s f t c u%s", i.key, i.base64(), crlf) }

// changed reports whether "now", a later answer about the item, differs from i. The parameter within is the time between the two answers.
// The CAS value alone is not enough, because some commands change the value or the lifetime, but not the CAS value.
func (i item) changed(now item, within time.Duration) bool {
	elapsed := int64(within/time.Second) + 2 // memcached's clock counts whole seconds
	return now.cas != i.cas || now.size != i.size || now.flags != i.flags || (now.seconds < 0) != (i.seconds < 0) ||
		now.seconds > i.seconds || now.seconds < i.seconds-elapsed
}

// removal returns the request that deletes the added item from the destination. The request does nothing if the item has changed
// there.
func (i item) removal() string {
	return fmt.Sprintf("md %s%s q C%s%s", i.key, i.base64(), i.cas, crlf)
}

// base64 returns the flag b for a binary key.
func (i item) base64() string {
	if i.binary {
		return " b"
	}
	return ""
}

// longestRelative is the largest number of seconds that memcached reads as a lifetime. It reads a larger number as a Unix time.
const longestRelative = 30 * 24 * 60 * 60

// request returns the beginning of the request that adds the item. The value must follow.
func (i item) request(now time.Time) string {
	expiry := int64(0)
	switch {
	case i.seconds > longestRelative:
		expiry = min(now.Unix()+i.seconds, math.MaxInt32) // memcached's limit; its clock may be behind ours
	case i.seconds > 0:
		expiry = i.seconds
	}
	return fmt.Sprintf("ms %s %d%s F%d T%d ME E%s%s", i.key, i.size, i.base64(), i.flags, expiry, i.cas, crlf)
}

// keyOf returns the key in a line of the key list, such as "mg name", or "mg bmFtZQ== b" for a binary key.
func keyOf(line string) (key []byte, valid bool) {
	words := strings.Split(line, " ")
	switch {
	case strings.ContainsAny(line, crlf):
		return nil, false
	case len(words) == 2 && words[0] == "mg":
		return []byte(words[1]), true
	case len(words) == 3 && words[0] == "mg" && words[2] == "b":
		key, err := base64.StdEncoding.DecodeString(words[1])
		return key, err == nil
	default:
		return nil, false
	}
}
