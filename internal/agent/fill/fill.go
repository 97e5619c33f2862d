// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package fill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Copy describes a copy of items between two memcacheds.
type Copy struct {
	// Source and Destination are the addresses of memcacheds that demand neither TLS nor a login.
	Source, Destination string
	// Progress is called after each batch. It may be nil.
	Progress func(Result)
	// stall and retry replace stallTimeout and busyRetry in tests.
	stall, retry time.Duration
}

// Result counts the items of a copy.
type Result struct {
	// Items is the number of items that the destination has added. Bytes is the size of all values that were sent.
	Items, Bytes int64
	// Present is the number of items that the destination already had. Refused is the number of items that it could not store.
	Present, Refused int64
}

const (
	// stallTimeout limits the time for one exchange with the source or the destination. Values get more time: see peer.patient.
	stallTimeout = 10 * time.Second
	// busyRetry is the pause before the copy tries a busy source again: see errBusy.
	busyRetry = time.Second
)

// Reasons why the source does not list its keys.
var (
	// ErrDumpRefused means that the source's arguments forbid listing keys (-X).
	ErrDumpRefused = errors.New("memcached refuses to list its keys (-X)")
	// errBusy means that the source cannot list its keys now: its LRU crawler is busy, or it enlarges its hash table.
	errBusy = errors.New("memcached is busy with another crawl, perhaps for a client that lists keys")
)

// Run copies until the source has no more keys, the context ends, or an error occurs. It waits for a busy source. The Result is
// valid even with an error.
func (c Copy) Run(ctx context.Context) (Result, error) {
	if c.stall == 0 {
		c.stall, c.retry = stallTimeout, busyRetry
	}
	var total Result
	var busy error
	for {
		err := c.once(ctx, &total)
		if ctx.Err() != nil && err != nil {
			return total, errors.Join(fmt.Errorf("%s: %w", c.Source, context.Cause(ctx)), busy)
		}
		if !errors.Is(err, errBusy) {
			return total, err
		}
		busy = err
		select {
		case <-ctx.Done():
		case <-time.After(c.retry):
		}
	}
}

// once makes one attempt: it requests the list of keys, copies the items in batches, and adds the Result of each batch to total.
func (c Copy) once(ctx context.Context, total *Result) error {
	to, err := dial(ctx, c.Destination, c.stall)
	if err != nil {
		return fmt.Errorf("destination: %w", err)
	}
	defer to.close()
	from, err := openSource(ctx, c.Source, c.stall)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Source, err)
	}
	defer from.close()
	b := batch{from: from, to: &destination{peer: to}, size: firstBatch}
	for more := true; more; {
		if more, err = b.next(); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				err = fmt.Errorf("%w, perhaps because a client lists keys and does not read them", err)
			}
			return fmt.Errorf("%s: %w", c.Source, err)
		}
		total.add(b.copied)
		if c.Progress != nil {
			c.Progress(*total)
		}
	}
	return nil
}

func (r *Result) add(other Result) {
	r.Items += other.Items
	r.Bytes += other.Bytes
	r.Present += other.Present
	r.Refused += other.Refused
}

const (
	// firstBatch and maxBatch are the numbers of keys that the first and the largest batch read from the list.
	firstBatch = 16
	maxBatch   = 256
	// batchBytes is the intended size of a batch, in bytes.
	batchBytes = 4 << 20
)

// batch copies items from one memcached to another, one batch after the other.
type batch struct {
	from *source
	to   *destination
	// size is the number of keys that the next batch reads from the list.
	size int
	// copied is the result of the last batch.
	copied Result
}

// next copies a batch, and reports whether another batch may follow.
func (b *batch) next() (more bool, err error) {
	asked, more, err := b.from.ask(b.size)
	if err != nil {
		return false, err
	}
	b.copied = Result{}
	if asked == 0 {
		return more, nil
	}
	if err := b.transfer(); err != nil {
		return false, err
	}
	return more, b.finish()
}

// transfer sends the requested items to the destination.
func (b *batch) transfer() error {
	b.to.begin()
	read, bytes := 0, int64(0)
	for {
		item, found, err := b.from.answer()
		if err != nil {
			return err
		}
		if !found {
			break
		}
		if !item.lasting() {
			err = b.from.skip(item)
		} else {
			err = b.to.add(item, b.from.values.in)
		}
		if err != nil {
			return err
		}
		read++
		bytes += item.size
	}
	b.size = maxBatch
	if read > 0 {
		b.size = int(min(max(batchBytes*int64(read)/max(bytes, 1), 1), maxBatch))
	}
	return nil
}

// finish waits until the destination has added the items. Then it deletes from the destination each item that has changed in the
// source meanwhile: the client's command had no effect in the destination, which did not have the item yet. If the source does not
// answer, finish deletes all items that the batch has added.
func (b *batch) finish() error {
	added, err := b.to.end()
	if err != nil {
		return fmt.Errorf("destination: %w", err)
	}
	changed, failed := b.from.changed(added)
	if failed != nil {
		changed = added
	}
	if err := b.to.remove(changed); err != nil {
		return errors.Join(failed, fmt.Errorf("destination: %w", err))
	}
	b.copied = b.to.sent
	return failed
}
