// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package fill

import (
	"io"
	"strings"
	"time"
)

type destination struct {
	*peer

	sent Result
	// items are the items of the batch.
	items []item
}

func (d *destination) begin() { d.sent, d.items = Result{}, nil }

// add sends an item. The reader provides the value and the line end.
func (d *destination) add(i item, value io.Reader) error {
	if err := d.patient(i.size); err != nil {
		return err
	}
	if _, err := d.out.WriteString(i.request(time.Now())); err != nil {
		return err
	}
	if _, err := io.CopyN(d.out, value, i.size+int64(len(crlf))); err != nil {
		return err
	}
	d.items = append(d.items, i)
	d.sent.Bytes += i.size
	return nil
}

// end completes the batch, and returns the items that the destination has added. memcached sends a line for each item, and then the
// line MN.
func (d *destination) end() (added []item, err error) {
	if err := d.complete(); err != nil {
		return nil, err
	}
	for _, i := range d.items {
		line, err := d.line()
		switch {
		case err != nil:
			return nil, err
		case line == "HD":
			added = append(added, i)
		case strings.HasPrefix(line, "NS"):
			d.sent.Present++
		case strings.HasPrefix(line, "SERVER_ERROR"):
			d.sent.Refused++
		default:
			return nil, unexpected(line)
		}
	}
	d.sent.Items = int64(len(added))
	return added, d.rest()
}

// remove deletes added items, unless clients have stored them again.
func (d *destination) remove(items []item) error {
	if len(items) == 0 {
		return nil
	}
	if err := d.patient(0); err != nil {
		return err
	}
	for _, i := range items {
		if _, err := d.out.WriteString(i.removal()); err != nil {
			return err
		}
	}
	d.sent.Items -= int64(len(items))
	if err := d.complete(); err != nil {
		return err
	}
	return d.rest()
}
