// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"strings"
	"testing"

	"github.com/example/memcached-operator/internal/agent/protocol"
)

// The parent refuses items in a file with an old version of memcached, and warns of an untested version. With items in memory, it
// accepts every version.
func TestVersions(t *testing.T) {
	t.Parallel()
	const untested = "was not tested with storage.type MemoryFile, only 1.6.45"
	for claim, test := range map[string]struct {
		list protocol.List
		// refused is why the parent ends. logged is its warning.
		refused, logged string
	}{
		"memcached 1.6.44":  {inFile(t), "storage.type MemoryFile needs memcached 1.6.45 or later, but the image has memcached 1.6.44: set spec.image", ""},
		"memcached 1.5.99":  {inFile(t), "storage.type MemoryFile needs memcached 1.6.45 or later", ""},
		"memcached 1.6.45":  {inFile(t), "", ""},
		"memcached 1.6.999": {inFile(t), "", "memcached 1.6.999 " + untested},
		"memcached 2.0.0":   {inFile(t), "", "memcached 2.0.0 " + untested},
		"something else":    {inFile(t), "", "something else " + untested},
		"memcached 1.6.18":  {inMemory(t), "", ""},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			p := newPod(t)
			p.claims(claim)
			p.first(test.list)
			if test.refused != "" {
				if code := p.exit(); code != 1 || !strings.Contains(p.logged(), test.refused) {
					t.Errorf("exit code %d; the parent logged:\n%s", code, p.logged())
				}
				return
			}
			p.runs(0)
			if logged := p.logged(); strings.Contains(logged, "MemoryFile") != (test.logged != "") || !strings.Contains(logged, test.logged) {
				t.Errorf("the parent logged:\n%s", logged)
			}
		})
	}
}

// A memcached does not read the items that another version has written.
func TestAnotherVersionStartsEmpty(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.begin(inFile(t))
	p.store(stored)
	p.end()
	p.claims("memcached 1.6.999")
	p.start()
	p.runs(0)
	if found := p.stored(stored); found != 0 {
		t.Errorf("%d items of another version; the parent logged:\n%s", found, p.logged())
	}
	p.store(stored)
	p.end()
	p.start()
	p.runs(0)
	if found := p.stored(stored); found != stored {
		t.Errorf("%d of %d items of the same version; the parent logged:\n%s", found, stored, p.logged())
	}
}
