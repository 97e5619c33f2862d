// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

// Stand-ins for kustomize and kubectl. The latter finds one cache, and records what it should delete.
const (
	kustomizeStandIn = `#!/bin/sh
[ "$1" = build ] || exit 0
printf -- '---\nkind: %s\n' Namespace CustomResourceDefinition ServiceAccount Deployment
`
	kubectlStandIn = `#!/bin/sh
case "$*" in
"get memcacheds.cache.example.com"*) echo memcached.cache.example.com/cache ;;
"get "*) echo "the server doesn't have a resource type" >&2; exit 1 ;;
delete*) cat >"$RECORD" ;;
esac
`
)

func TestWhatMakeDeletes(t *testing.T) {
	for name, test := range map[string]struct {
		target, says string
		fails        bool
		deletes      string
	}{
		"undeploy keeps the caches":      {target: "undeploy", says: "The CRDs and the caches stay", deletes: "ServiceAccount Deployment"},
		"undeploy-all asks":              {target: "undeploy-all", says: "Nothing is deleted. CONFIRM=yes confirms", fails: true},
		"undeploy-all, confirmed":        {target: "undeploy-all CONFIRM=yes", deletes: "Namespace CustomResourceDefinition ServiceAccount Deployment"},
		"uninstall asks":                 {target: "uninstall", says: "This deletes all caches of the cluster", fails: true},
		"deploy refuses the placeholder": {target: "deploy", says: "which no cluster can pull", fails: true},
		"deploy needs both digests":      {target: "deploy IMG=registry.example.com/operator@sha256:0", says: "AGENT_IMG is ''", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range map[string]string{"kustomize": kustomizeStandIn, "kubectl": kubectlStandIn} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			command := exec.Command("make", append(strings.Fields(test.target), "--no-print-directory", "KUSTOMIZE="+filepath.Join(dir, "kustomize"))...)
			command.Dir = repository.Path()
			record := filepath.Join(dir, "deleted")
			command.Env = append(os.Environ(), "MAKEFLAGS=", "PATH="+dir+":"+os.Getenv("PATH"), "RECORD="+record)
			output, err := command.CombinedOutput()
			if (err != nil) != test.fails || !strings.Contains(string(output), test.says) {
				t.Errorf("%v, want %q:\n%s", err, test.says, output)
			}
			deleted, _ := os.ReadFile(record) // it exists only if something is deleted
			kinds := strings.Fields(strings.NewReplacer("---", "", "kind: ", "").Replace(string(deleted)))
			if got := strings.Join(kinds, " "); got != test.deletes {
				t.Errorf("deletes %q, want %q", got, test.deletes)
			}
		})
	}
}
