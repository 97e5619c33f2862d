// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

// prepare makes a copy of hack, published commands, and a go that does not compile. provide needs first one command, then the other.
const (
	prepare = `cp -R "$REPOSITORY/hack" . && mkdir -p published/bin path && printf '#!/bin/sh\necho I am published\n' >published/bin/kubectl &&
chmod +x published/bin/kubectl && cp published/bin/kubectl published/etcd && tar -czf archive published && go=$(command -v go) &&
printf '#!/bin/sh\ncase $1 in env | version) exec %s "$@" ;; esac\nexit 1' "$go" >path/go && chmod +x path/go`
	provide = `export PATH=$PWD/path:$PATH BINARIES_CACHE=$PWD/cache
hack/binaries.sh kubectl && bin/kubernetes/kubectl && hack/binaries.sh etcd && bin/kubernetes/etcd`
)

func TestPublishedBinaries(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("without curl, nothing is downloaded")
	}
	_ = repository.Read(t, "hack", "binaries.sh") // so that the result is not cached when the script has changed
	t.Setenv("REPOSITORY", repository.Path())
	t.Setenv("no_proxy", "127.0.0.1")
	for name, test := range map[string]struct {
		serve func(archive []byte) []byte
		want  string
	}{
		"the pinned archive": {func(archive []byte) []byte { return archive }, "I am published\nI am published\n"},
		"another archive": {
			func(archive []byte) []byte { return append(archive, 0) },
			"This is not the archive that hack/kubernetes/published.sha256 pins. It is not used.\nBuilding kubectl: ",
		},
		"no archive": {func([]byte) []byte { return nil }, "error: 404\nBuilding kubectl: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if output, err := exec.Command("bash", "-c", prepare).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, output)
			}
			archive := []byte(repository.ReadFile(t, "archive"))
			address := "example.com/v1/kubernetes-" + runtime.GOOS + "-" + runtime.GOARCH + ".tar.gz"
			pins := fmt.Sprintf("%x %s etcd kubectl\n", sha256.Sum256(archive), address)
			if err := os.WriteFile("hack/kubernetes/published.sha256", []byte(pins), 0o600); err != nil {
				t.Fatal(err)
			}
			mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if served := test.serve(archive); served != nil && r.URL.Path == "/"+address {
					_, _ = w.Write(served)
					return
				}
				http.NotFound(w, r)
			}))
			defer mirror.Close()
			t.Setenv("BINARIES_MIRROR", mirror.URL+"/")
			output, _ := exec.Command("bash", "-c", provide).CombinedOutput() // it fails where there is nothing to run
			if !strings.Contains(string(output), test.want) {
				t.Errorf("want %q in:\n%s", test.want, output)
			}
		})
	}
}
