// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package fill

import (
	"context"
	"errors"
	"strings"
	"time"
)

// source is the memcached whose items are copied. It lists its keys on one connection, and sends the items on another.
type source struct {
	keys, values *peer
	// ended reports that all keys were listed.
	ended bool
	// asked is when the items of the batch were requested.
	asked time.Time
	// releases are the requests that give back the tokens of the current batch.
	releases strings.Builder
}

// openSource connects twice, and requests the list of keys.
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

// begin requests the list of keys. While memcached's LRU crawler runs, begin returns errBusy instead: the crawler may wait for another
// client that does not read its list, and a second request would then block one of memcached's threads. This can still happen if a
// crawl starts after the check.
func (s *source) begin() error {
	if err := s.keys.patient(0); err != nil {
		return err
	}
	if err := s.idle(); err != nil {
		return err
	}
	line, err := s.keys.ask("lru_crawler mgdump hash")
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

// idle returns errBusy if memcached's LRU crawler runs. memcached answers "stats" even while the crawler waits for a client.
func (s *source) idle() error {
	busy := false
	line, err := s.keys.ask("stats")
	for ; err == nil && line != "END"; line, err = s.keys.line() {
		if !strings.HasPrefix(line, "STAT ") {
			return unexpected(line)
		}
		busy = busy || line == "STAT lru_crawler_running 1"
	}
	if err == nil && busy {
		err = errBusy
	}
	return err
}

// ask reads at most "most" lines of the key list, and requests the items of these keys. It returns the number of requested items, and
// whether more keys may follow. The flag u leaves the order of eviction as it is. The flag q suppresses answers for missing items.
func (s *source) ask(most int) (asked int, more bool, err error) {
	if err := errors.Join(s.keys.patient(0), s.values.patient(0)); err != nil {
		return 0, false, err
	}
	for listed := 0; listed < most && !s.ended; listed++ {
		line, valid, err := s.key()
		if err != nil {
			return 0, false, err
		}
		if !valid {
			continue
		}
		asked++
		if _, err := s.values.out.WriteString(line + " k f t c v u q" + crlf); err != nil {
			return 0, false, err
		}
	}
	if asked == 0 {
		return 0, !s.ended, nil
	}
	s.asked = time.Now()
	return asked, !s.ended, s.values.complete()
}

// key reads the next line of the key list, and reports whether its key is valid. At the end of the list, it sets ended. Keys with spaces or
// line ends are not valid: only a client with the binary protocol can have stored them, and a text command cannot name them. A key that
// contains the line "EN" still ends the list.
func (s *source) key() (line string, valid bool, err error) {
	line, err = s.keys.line()
	if err != nil {
		return "", false, err
	}
	s.ended = line == "EN"
	if s.ended {
		return "", false, nil
	}
	if strings.HasPrefix(line, "ERROR locked") {
		return "", false, errBusy // memcached is enlarging its hash table
	}
	_, valid = keyOf(line)
	return line, valid, nil
}

// answer reads the line before the next value. At the end of the batch, it gives back the tokens and returns false.
func (s *source) answer() (_ item, found bool, _ error) {
	for {
		line, err := s.values.line()
		if err != nil {
			return item{}, false, err
		}
		if line == "MN" {
			return item{}, false, s.release()
		}
		if strings.HasPrefix(line, "SERVER_ERROR") {
			continue // memcached has no memory for this answer
		}
		next, err := parseItem(line)
		if err == nil {
			err = s.values.patient(next.size)
		}
		if next.won {
			s.releases.WriteString(next.release())
		}
		return next, err == nil, err
	}
}

// release gives back the tokens of the batch, so that clients get them and store the items again.
func (s *source) release() error {
	if s.releases.Len() == 0 {
		return nil
	}
	if err := s.values.patient(0); err != nil {
		return err
	}
	line, err := s.values.ask(s.releases.String() + "mn")
	s.releases.Reset()
	if err != nil || line == "MN" {
		return err
	}
	return s.values.rest() // there is a line for each item that has changed
}

// changed returns the copied items that have changed in the source, or are gone from it.
func (s *source) changed(copied []item) (changed []item, err error) {
	if err := s.values.patient(0); err != nil {
		return nil, err
	}
	for _, i := range copied {
		if _, err := s.values.out.WriteString(i.question()); err != nil {
			return nil, err
		}
	}
	if err := s.values.complete(); err != nil {
		return nil, err
	}
	for _, i := range copied {
		line, err := s.values.line()
		if err != nil {
			return nil, err
		}
		now := item{key: i.key, binary: i.binary}
		for _, word := range strings.Split(line, " ")[1:] {
			if err := readWord(word, &now); err != nil {
				return nil, unexpected(line)
			}
		}
		if now.won {
			s.releases.WriteString(now.release())
		}
		if i.changed(now, time.Since(s.asked)) {
			changed = append(changed, i)
		}
	}
	if err := s.values.rest(); err != nil {
		return nil, err
	}
	return changed, s.release()
}

func (s *source) skip(i item) error {
	_, err := s.values.in.Discard(int(i.size) + len(crlf))
	return err
}
