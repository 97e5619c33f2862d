// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"fmt"
	"strconv"
	"strings"
)

// Stats are the statistics of a memcached, under its own names.
type Stats struct {
	// General are those of stats, and those of stats slabs that are about all slab classes.
	General  map[string]string
	Settings map[string]string
	// Items and Slabs are those of each slab class.
	Items, Slabs map[int]map[string]string
}

func (s *Stats) storeGeneral(name, value string) error {
	s.General[name] = value
	return nil
}

func (s *Stats) storeSetting(name, value string) error {
	s.Settings[name] = value
	return nil
}

// storeItems stores a line such as items:3:number 12.
func (s *Stats) storeItems(name, value string) error {
	class, found := strings.CutPrefix(name, "items:")
	if !found {
		return fmt.Errorf("%w: %s in stats items", ErrMalformed, strconv.QuoteToASCII(name[:min(len(name), maxQuoted)]))
	}
	return storeClass(s.Items, class, value)
}

// storeSlabs stores a line such as 3:chunk_size 152, or active_slabs 1.
func (s *Stats) storeSlabs(name, value string) error {
	if !strings.Contains(name, ":") {
		return s.storeGeneral(name, value)
	}
	return storeClass(s.Slabs, name, value)
}

func storeClass(classes map[int]map[string]string, name, value string) error {
	number, stat, _ := strings.Cut(name, ":")
	class, err := strconv.ParseUint(number, 10, 8)
	if err != nil {
		return fmt.Errorf("%w: slab class %s", ErrMalformed, strconv.QuoteToASCII(number[:min(len(number), maxQuoted)]))
	}
	if classes[int(class)] == nil {
		classes[int(class)] = map[string]string{}
	}
	classes[int(class)][stat] = value
	return nil
}
