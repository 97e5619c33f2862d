// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/agent/credentials"
)

func TestDefaults(t *testing.T) {
	got, err := parse(nil, nil)
	want := Options{
		Memcached: "127.0.0.1:11211", Listen: ":9150", Timeout: time.Second, Parent: "127.0.0.1:9151",
		Credentials: credentials.Config{TLS: "127.0.0.1:11212", Folder: "/run/memcached", TerminationLog: "/dev/termination-log"},
	}
	if err != nil || got != want || got.Credentials.Enabled() {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestWrongFlagsAreRefusedInOneSentence(t *testing.T) {
	for arg, want := range map[string]string{
		"--nonsense":              "flag provided but not defined: -nonsense",
		"stray":                   `unexpected argument "stray"`,
		"--timeout=soon":          `invalid value "soon" for flag -timeout`,
		"--listen=127.0.0.1:port": "unknown port",
	} {
		var log bytes.Buffer
		err := Run(t.Context(), []string{arg}, "", &log)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", arg, err, want)
		}
		if usage := errors.Is(err, ErrUsage); usage == strings.Contains(arg, "port") {
			t.Errorf("%s: an error of usage is %t", arg, usage)
		}
		if log.Len() > 0 {
			t.Errorf("%s: logged %s", arg, log.String())
		}
	}
}
