// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package fill

import (
	"io"
	"strings"
	"time"
)

// destination is a memcached that gets items.
type destination struct {
	*peer

	sent Result
}

// begin begins a batch.
func (d *destination) begin() { d.sent = Result{} }

// add passes an item on, whose value and its end of line come next.
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
	d.sent.Items++
	d.sent.Bytes += i.size
	return nil
}

// end reads what became of the batch. memcached answers for an item only if it has not added it.
func (d *destination) end() (Result, error) {
	if _, err := d.out.WriteString("mn" + crlf); err != nil {
		return Result{}, err
	}
	if err := d.out.Flush(); err != nil {
		return Result{}, err
	}
	if err := d.patient(0); err != nil {
		return Result{}, err
	}
	for {
		line, err := d.line()
		switch {
		case err != nil:
			return Result{}, err
		case line == "MN":
			return d.sent, nil
		case line == "NS":
			d.sent.Present++
		case strings.HasPrefix(line, "SERVER_ERROR"):
			d.sent.Refused++
		default:
			return Result{}, unexpected(line)
		}
		d.sent.Items--
	}
}
