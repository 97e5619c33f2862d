// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/repository"
)

// Stand-ins for kustomize and kubectl, so that these tests need no cluster. The stand-in for kubectl records its arguments and
// manifests. The end-to-end tests use the real commands.
const (
	kustomizeStandIn = `#!/bin/sh
[ "$1" != build ] || cat "$MANIFESTS"
`
	kubectlStandIn = `#!/bin/sh
echo "$*" >>"$RECORD/arguments"
case "$*" in
api-resources*)
	[ -z "$NO_API" ] || { echo "Unable to connect to the server" >&2; exit 1; }
	[ -n "$NO_CRD" ] || echo memcacheds.cache.example.com
	[ -n "$NO_CRD$OLD_CRD" ] || echo memcachedproxies.cache.example.com
	;;
"get memcachedproxies"*) printf "$PROXIES" ;;
"get memcacheds"*) printf "$MEMCACHEDS" ;;
version*) [ -z "$NO_CLUSTER" ] || { echo "The connection to the server localhost:8080 was refused" >&2; exit 1; } ;;
"get deployments"*) printf "$OPERATORS" ;;
"get --filename"*) cat >>"$RECORD/looked-up"; printf "$BINDINGS" ;;
"get pods"*) echo "operator-1: Pending, ErrImagePull not found" ;;
"config current-context") echo shop-cluster ;;
apply*) cat >"$RECORD/applied" ;;
delete*--filename*) cat >>"$RECORD/deleted" ;;
"rollout status"*) cat >"$RECORD/awaited"; [ -z "$ROLLOUT" ] || { echo "error: $ROLLOUT" >&2; exit 1; } ;;
esac
`
)

// makeRun is the result of a run of make. dir is the folder in which the stand-in for kubectl has recorded its input.
type makeRun struct {
	output string
	failed bool
	dir    string
}

// runMake runs make with the stand-ins. The stand-in for kustomize prints the manifests of a folder in config.
func runMake(t *testing.T, folder string, arguments ...string) makeRun {
	t.Helper()
	var manifests strings.Builder
	for _, object := range kustomize.Render(t, config(folder)) {
		manifest, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		manifests.WriteString("---\n" + string(manifest))
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"kustomize": kustomizeStandIn, "kubectl": kubectlStandIn, "manifests": manifests.String(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	arguments = append(arguments, "--no-print-directory", "KUSTOMIZE="+filepath.Join(dir, "kustomize"))
	command := exec.Command("make", arguments...)
	command.Dir = repository.Path()
	command.Env = append(os.Environ(), "MAKEFLAGS=", "PATH="+dir+":"+os.Getenv("PATH"),
		"RECORD="+dir, "MANIFESTS="+filepath.Join(dir, "manifests"))
	output, err := command.CombinedOutput()
	return makeRun{output: string(output), failed: err != nil, dir: dir}
}

// kinds returns the kind of each manifest in a file of r.dir, or nothing if the file does not exist.
func (r makeRun) kinds(t *testing.T, file string) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(r.dir, file))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for line := range strings.Lines(string(content)) {
		if kind, found := strings.CutPrefix(line, "kind: "); found {
			kinds = append(kinds, strings.TrimSpace(kind))
		}
	}
	return kinds
}
