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
}

func (d *destination) begin() { d.sent = Result{} }

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
	d.sent.Items++
	d.sent.Bytes += i.size
	return nil
}

// end completes the batch and returns its Result. memcached sends a line for each item that it has not added, and then the line MN.
func (d *destination) end() (Result, error) {
	if err := d.patient(0); err != nil {
		return Result{}, err
	}
	if _, err := d.out.WriteString("mn" + crlf); err != nil {
		return Result{}, err
	}
	if err := d.out.Flush(); err != nil {
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
