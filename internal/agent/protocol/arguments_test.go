// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const line = "-p 11211 -U 0 -m 64 -c 1055 -t 4 -I 1m -W -X -o read_buf_mem_limit=44"

const certified = ",ssl_chain_cert=/run/memcached/current/tls.crt,ssl_key=/run/memcached/current/tls.key,ssl_min_version=2"

func TestListsOfTheOperator(t *testing.T) {
	const tls = " -Z -l notls:127.0.0.1:11211,*:11212"
	for _, text := range []string{
		line, strings.Replace(line, " -X", " -X -F -e /run/memcached-items/items", 1), strings.Replace(line, "=44", "=44,idle_timeout=600", 1),
		strings.Replace(line, " -o", tls+" -o", 1) + certified, strings.Replace(line, " -o", " -Y /run/memcached/current/users -o", 1),
		strings.Replace(line, " -o", strings.Replace(tls, "127.0.0.1", "*", 1)+" -Y /run/memcached/current/users -o", 1) + certified +
			",ssl_ca_cert=/run/memcached/current/ca.crt,ssl_verify_mode=2",
	} {
		if err := (List{Arguments: text}).Check(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestListsOfOthers(t *testing.T) {
	for _, text := range []string{
		"", "\n", line + " -A", "-A " + line, line + "\n-A\n", line + "\n",
		strings.Replace(line, "-m 64", "-m 64 -A", 1), strings.Replace(line, " ", "  ", 1), strings.Replace(line, "=44", "=44,proxy_config=/x", 1),
		strings.Replace(line, "-X", "-X -e /etc/passwd", 1), line + "\r\n",
		// With TLS but no certificate, memcached would not start. With a certificate but no TLS, it would serve plaintext.
		strings.Replace(line, " -o", " -Z -l notls:127.0.0.1:11211,*:11212 -o", 1), line + certified,
	} {
		if err := (List{Arguments: text}).Check(); !errors.Is(err, ErrNotOurs) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestValue(t *testing.T) {
	list := List{Arguments: "-m 64 -X -t"}
	for option, want := range map[string]string{"-m": "64", "-X": "-t", "-t": "", "-c": ""} {
		if got := list.Value(option); got != want {
			t.Errorf("%s is %q, not %q", option, got, want)
		}
	}
	if got := (List{}).Value("-m"); got != "" {
		t.Errorf("-m of nothing is %q", got)
	}
}

func TestEffect(t *testing.T) {
	list := List{Target: "a", Arguments: line}
	newer, restarted, larger := list, list, strings.Replace(line, "-m 64", "-m 65", 1)
	newer.Target, restarted.Restart = "b", "2026-11-24T07:00:00Z"
	for name, row := range map[string]struct {
		next        List
		same, grows bool
	}{
		"another target":          {next: newer, same: true},
		"another restart":         {next: restarted},
		"more memory":             {next: List{Arguments: larger}, grows: true},
		"more memory, and others": {next: List{Arguments: larger + " -X"}},
		"less memory":             {next: List{Arguments: strings.Replace(line, "-m 64", "-m 63", 1)}},
	} {
		if same, grows := list.Same(row.next), list.Grows(row.next); same != row.same || grows != row.grows {
			t.Errorf("%s: same %t, grows %t", name, same, grows)
		}
	}
}

func TestEntry(t *testing.T) {
	list, foreign := List{Target: "a", Arguments: line, Restart: "once"}, List{Target: "a", Arguments: line + " -A"}
	for name, row := range map[string]struct {
		entry Entry
		err   error
	}{
		"whole":          {entry: Entry{Pod: "p", Number: 3, List: list, Former: &list, Refused: &Refused{Value: "b", Tries: 1}}},
		"not ours":       {entry: Entry{Pod: "p", Number: 3, List: foreign}, err: ErrNotOurs},
		"former is not":  {entry: Entry{Pod: "p", Number: 3, List: list, Former: &foreign}, err: ErrNotOurs},
		"a large target": {entry: Entry{Pod: "p", List: List{Target: strings.Repeat("a", maxList), Arguments: line}}, err: ErrNotOurs},
	} {
		parsed, err := ParseEntry(row.entry.String())
		if diff := cmp.Diff(row.entry, parsed); diff != "" || !errors.Is(err, row.err) {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if parsed, err := ParseEntry(`{"pod":"p"`); !errors.Is(err, ErrNotOurs) {
		t.Errorf("%+v, %v", parsed, err)
	}
}
