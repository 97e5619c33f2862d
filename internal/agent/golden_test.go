// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/internal/agent/stats"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden.txt")

// recordings are the folders with the replies of memcached 1.6.45, as Debian builds it. The first was started as the operator
// does it, the others with what else fills series of the exporter.
var recordings = []string{"default", "extstore", "proxy"}

// The golden files were written by prometheus/memcached_exporter 0.16.0 itself, from the same recordings.
func TestGoldenScrapes(t *testing.T) {
	for _, name := range recordings {
		t.Run(name, func(t *testing.T) {
			status, body := startAgent(t, newFake(t, recorded(t, name)).options()).get(t, "/metrics")
			if status != http.StatusOK {
				t.Fatalf("/metrics: %d", status)
			}
			file := filepath.Join("testdata", name+".golden.txt")
			if *update {
				if err := os.WriteFile(file, []byte(exported(body)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(golden(t, name), exported(body)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// No family is there for nothing: memcached 1.6.45 fills each of them.
func TestMemcachedFillsEachFamily(t *testing.T) {
	var all strings.Builder
	for _, name := range recordings {
		all.WriteString(golden(t, name))
	}
	for _, family := range stats.Families() {
		if !strings.Contains(all.String(), "\n"+family.Name+"{") && !strings.Contains(all.String(), "\n"+family.Name+" ") {
			t.Errorf("no recording fills %s", family.Name)
		}
	}
}

func golden(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".golden.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
