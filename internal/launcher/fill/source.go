// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package fill

import (
	"context"
	"strings"
	"time"
)

// source is a memcached that lists its keys on one connection and gives their items on another one.
type source struct {
	keys, values *peer
	// ended says that all keys were listed.
	ended bool
}

// openSource begins a dump.
func openSource(ctx context.Context, address string, stall time.Duration) (*source, error) {
	keys, err := dial(ctx, address, stall)
	if err != nil {
		return nil, err
	}
	values, err := dial(ctx, address, stall)
	if err != nil {
		keys.close()
		return nil, err
	}
	s := &source{keys: keys, values: values}
	if err := s.begin(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *source) close() {
	s.keys.close()
	s.values.close()
}

// begin asks for the keys.
func (s *source) begin() error {
	if err := s.keys.patient(0); err != nil {
		return err
	}
	if _, err := s.keys.conn.Write([]byte("lru_crawler mgdump hash" + crlf)); err != nil {
		return err
	}
	line, err := s.keys.line()
	switch {
	case err != nil:
		return err
	case line == "OK":
		return nil
	case strings.HasPrefix(line, "BUSY"):
		return errBusy
	case strings.Contains(line, "not allowed"):
		return ErrDumpRefused
	default:
		return unexpected(line)
	}
}

// ask asks for the items of the next keys, and reports how many and whether more follow. The flag u does not change the order in which the
// source evicts, and q leaves out items that are gone.
func (s *source) ask(most int, keep func([]byte) bool) (asked int, more bool, err error) {
	if err := s.keys.patient(0); err != nil {
		return 0, false, err
	}
	for listed := 0; listed < most && !s.ended; listed++ {
		line, key, err := s.key()
		if err != nil {
			return 0, false, err
		}
		if s.ended || keep != nil && !keep(key) {
			continue
		}
		asked++
		if _, err := s.values.out.WriteString(line + " k f t v u q" + crlf); err != nil {
			return 0, false, err
		}
	}
	if asked == 0 {
		return 0, !s.ended, nil
	}
	_, err = s.values.out.WriteString("mn" + crlf)
	if err == nil {
		err = s.values.patient(0)
	}
	if err == nil {
		err = s.values.out.Flush()
	}
	return asked, !s.ended, err
}

// key reads the next line of the list, and the key in it, unless the list has ended.
func (s *source) key() (line string, key []byte, err error) {
	line, err = s.keys.line()
	if err != nil {
		return "", nil, err
	}
	s.ended = line == "EN"
	if s.ended {
		return "", nil, nil
	}
	if strings.HasPrefix(line, "ERROR locked") {
		return "", nil, errBusy // its hash table grows
	}
	key, valid := keyOf(line)
	if !valid {
		return "", nil, unexpected(line)
	}
	return line, key, nil
}

// answer reads up to the next value. There is none at the end of the batch.
func (s *source) answer() (_ item, found bool, _ error) {
	for {
		line, err := s.values.line()
		if err != nil || line == "MN" {
			return item{}, false, err
		}
		if strings.HasPrefix(line, "SERVER_ERROR") {
			continue // it has no memory to answer for this item
		}
		next, err := parseItem(line)
		if err == nil {
			err = s.values.patient(next.size)
		}
		return next, err == nil, err
	}
}

// skip reads over a value.
func (s *source) skip(i item) error {
	_, err := s.values.in.Discard(int(i.size) + len(crlf))
	return err
}
