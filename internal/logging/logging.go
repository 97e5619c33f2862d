// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package logging writes the log of the operator and of its libraries.
package logging

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"unicode"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// Setup makes the operator, client-go and the servers of the standard library write their logs to the writer, through a logger with
// these options.
func Setup(to io.Writer, options ...zap.Opts) {
	logger := newLogger(to, options...)
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	slog.SetDefault(slog.New(logr.ToSlogHandler(logger)))
}

func newLogger(to io.Writer, options ...zap.Opts) logr.Logger {
	return zap.New(append(options, zap.WriteTo(visibleText{to}))...)
}

// visibleText escapes control characters and direction marks in log entries, as in JSON. Errors quote text from webhooks,
// containers and users. That text could otherwise forge or hide a line.
type visibleText struct {
	io.Writer
}

// Write implements io.Writer. zap passes whole entries.
func (v visibleText) Write(entry []byte) (int, error) {
	var escaped strings.Builder
	for _, r := range string(entry) {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Bidi_Control) {
			fmt.Fprintf(&escaped, `\u%04x`, r)
		} else {
			escaped.WriteRune(r)
		}
	}
	if _, err := io.WriteString(v.Writer, escaped.String()); err != nil {
		return 0, err
	}
	return len(entry), nil
}
