// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// hostile reverses the direction of text, clears a terminal in two ways, and starts a new line.
const hostile = "denied\u202e\u2066\x1b[2J\u009b2J\nforged"

func TestLogEntriesAreVisible(t *testing.T) {
	for name, options := range map[string][]zap.Opts{
		"JSON":    nil,
		"console": {zap.ConsoleEncoder()},
	} {
		t.Run(name, func(t *testing.T) {
			var written bytes.Buffer
			newLogger(&written, options...).Error(errors.New(hostile), "Reconciler error")
			if strings.ContainsAny(written.String(), "\u202e\u2066\x1b\u009b") {
				t.Errorf("the entry has invisible characters: %q", written.String())
			}
			if !strings.Contains(written.String(), `\u202e\u2066\u001b[2J\u009b2J`) {
				t.Errorf("the entry does not tell the error: %q", written.String())
			}
			var entry map[string]any
			if err := json.Unmarshal(written.Bytes(), &entry); name == "JSON" && (err != nil || entry["error"] != hostile) {
				t.Errorf("the error is %q, not %q: %v", entry["error"], hostile, err)
			}
		})
	}
}
