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

func TestList(t *testing.T) {
	for text, want := range map[string]string{
		line:        "",
		line + "\n": "",
		line + "\nrestartedAt=2026-11-24T07:00:00Z\n": "2026-11-24T07:00:00Z",
	} {
		list, err := ParseList(text)
		if err != nil || strings.Join(list.Arguments, " ") != line || list.RestartedAt != want {
			t.Errorf("%q: %+v, %v", text, list, err)
		}
		again, err := ParseList(list.String())
		if diff := cmp.Diff(list, again); diff != "" || err != nil || again.Hash() != list.Hash() {
			t.Errorf("%q is %q as text: %v", text, list.String(), err)
		}
	}
}

func TestListsOfTheOperator(t *testing.T) {
	const tls = " -Z -l notls:127.0.0.1:11211,*:11212"
	for _, text := range []string{
		strings.Replace(line, " -X", " -X -F -e /run/memcached-items/items", 1), strings.Replace(line, "=44", "=44,idle_timeout=600", 1),
		strings.Replace(line, " -o", tls+" -o", 1) + certified, strings.Replace(line, " -o", " -Y /run/memcached/current/users -o", 1),
		strings.Replace(line, " -o", strings.Replace(tls, "127.0.0.1", "*", 1)+" -Y /run/memcached/current/users -o", 1) + certified +
			",ssl_ca_cert=/run/memcached/current/ca.crt,ssl_verify_mode=2",
	} {
		if _, err := ParseList(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestListsOfOthers(t *testing.T) {
	for _, text := range []string{
		"", "\n", line + " -A", "-A " + line, line + "\n-A\n", line + "\nrestartedAt=now\n", line + "\n\nrestartedAt=2026-11-24T07:00:00Z",
		strings.Replace(line, "-m 64", "-m 64 -A", 1), strings.Replace(line, " ", "  ", 1), strings.Replace(line, "=44", "=44,proxy_config=/x", 1),
		strings.Replace(line, "-X", "-X -e /etc/passwd", 1), line + "\r\n",
		// With TLS but no certificate, memcached would not start. With a certificate but no TLS, it would serve plaintext.
		strings.Replace(line, " -o", " -Z -l notls:127.0.0.1:11211,*:11212 -o", 1), line + certified,
	} {
		if list, err := ParseList(text); !errors.Is(err, ErrNotOurs) {
			t.Errorf("%q: %+v, %v", text, list, err)
		}
	}
}

func TestValue(t *testing.T) {
	list := List{Arguments: strings.Split("-m 64 -X -t", " ")}
	for option, want := range map[string]string{"-m": "64", "-X": "-t", "-t": "", "-c": ""} {
		if got := list.Value(option); got != want {
			t.Errorf("%s is %q, not %q", option, got, want)
		}
	}
	if got := (List{}).Value("-m"); got != "" {
		t.Errorf("-m of nothing is %q", got)
	}
}

func TestHashesDiffer(t *testing.T) {
	list, err := ParseList(line)
	if err != nil {
		t.Fatal(err)
	}
	restarted := list
	restarted.RestartedAt = "2026-11-24T07:00:00Z"
	if list.Hash() == restarted.Hash() || len(list.Hash()) != 16 {
		t.Errorf("hashes %s and %s", list.Hash(), restarted.Hash())
	}
}

func TestSection(t *testing.T) {
	section := Section{Default: "aa", Nodes: map[int]string{10: "cc", 2: "bb"}}
	const text = "default aa\n2 bb\n10 cc\n"
	if got := section.String(); got != text {
		t.Errorf("%q, not %q", got, text)
	}
	parsed, err := ParseSection(text)
	if diff := cmp.Diff(section, parsed); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, text := range []string{"0", "x aa\n", "\n", "default\n"} {
		if parsed, err := ParseSection(text); !errors.Is(err, ErrNotOurs) {
			t.Errorf("%q: %+v, %v", text, parsed, err)
		}
	}
}
