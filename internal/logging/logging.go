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

// Setup makes the operator, client-go and Go's standard library write their logs to the writer, through one logger with these options.
func Setup(to io.Writer, options ...zap.Opts) {
	logger := newLogger(to, options...)
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	slog.SetDefault(slog.New(logr.ToSlogHandler(logger)))
}

func newLogger(to io.Writer, options ...zap.Opts) logr.Logger {
	return zap.New(append(options, zap.WriteTo(visibleText{to}))...)
}

// visibleText replaces control characters and direction marks in log entries by JSON escapes, but leaves line breaks and tabs.
// Entries quote text from webhooks, containers and users. Such text could otherwise forge or hide a line.
type visibleText struct {
	io.Writer
}

// Write implements io.Writer. zap calls it with one whole entry.
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
