// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOnlyTransitionsAreLoggedAndSeldom(t *testing.T) {
	failure := errors.New("no answer within 1s")
	for _, test := range []struct {
		name string
		// observations are one second apart.
		observations []error
		want         []string
	}{
		{name: "the first success", observations: []error{nil, nil, nil}, want: []string{"answers at 0"}},
		{name: "a start that takes some seconds", observations: []error{failure, failure, nil, nil}, want: []string{"answers at 2"}},
		{name: "a start that never ends", observations: slices.Repeat([]error{failure}, 60), want: []string{"does not answer at 10: no answer within 1s"}},
		{
			name:         "an outage",
			observations: slices.Concat(slices.Repeat([]error{nil}, 20), slices.Repeat([]error{failure}, 20), slices.Repeat([]error{nil}, 20)),
			want:         []string{"answers at 0", "does not answer at 20: no answer within 1s", "answers at 40"},
		},
		{
			name:         "flapping that ends well",
			observations: slices.Concat([]error{nil}, slices.Repeat([]error{failure, nil}, 20), slices.Repeat([]error{nil}, 20)),
			want:         []string{"answers at 0", "does not answer at 11: no answer within 1s", "answers at 22", "does not answer at 33: no answer within 1s", "answers at 43"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			clock := newTestClock()
			transitions := newTransitions(slog.New(slog.NewJSONHandler(&log, nil)), clock.now, "does not answer", "answers")
			var got []string
			for second, err := range test.observations {
				transitions.observe(err)
				for line := range strings.Lines(log.String()) {
					got = append(got, describe(t, line, second))
				}
				log.Reset()
				clock.pass(time.Second)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func describe(t *testing.T, line string, second int) string {
	t.Helper()
	var entry struct{ Level, Msg, Reason string }
	if err := json.Unmarshal([]byte(line), &entry); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%s at %d", entry.Msg, second)
	if entry.Level == "WARN" {
		text += ": " + entry.Reason
	}
	return text
}
