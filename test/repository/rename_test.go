// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

func run(t *testing.T, folder string, arguments ...string) (output string, failed bool) {
	t.Helper()
	command := exec.Command(arguments[0], arguments[1:]...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	text, err := command.CombinedOutput()
	return strings.TrimSpace(string(text)), err != nil
}

// copied returns the folder of a new git repository. Its only commit contains the tracked files of the checkout.
func copied(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, command := range [][]string{
		{"sh", "-c", `git ls-files -z | xargs -0 tar -c | tar -xC "$0"`, folder},
		{"git", "-C", folder, "init", "--quiet"},
		{"git", "-C", folder, "add", "--all"},
		{"git", "-C", folder, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "--quiet", "--message=all"},
	} {
		if output, failed := run(t, repository.Path(), command...); failed {
			t.Fatalf("%q: %s", command, output)
		}
	}
	return folder
}

func TestRenameLeavesNoPlaceholder(t *testing.T) {
	folder := copied(t)
	if output, failed := run(t, folder, "hack/rename.sh", "shop.io", "registry.shop.io/team/memcached-operator", "github.com/shop/memcached-operator"); failed {
		t.Fatal(output)
	}
	// rename.sh and check.sh look for placeholders, so both keep them.
	for _, placeholder := range []string{"github.com/" + "example/", "cache." + "example.com", "@" + "example.com", "@" + "example/"} {
		files, _ := run(t, folder, "git", "grep", "-lF", placeholder, "--", ":!hack/rename.sh", ":!hack/release/check.sh")
		if files != "" {
			t.Errorf("%s is left in %q", placeholder, files)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "config", "crd", "bases", "cache.shop.io_memcacheds.yaml")); err != nil {
		t.Error(err)
	}
	if output, failed := run(t, folder, "sh", "-c", "gofmt -l $(git ls-files '*.go')"); failed || output != "" {
		t.Errorf("gofmt: %s", output)
	}
	if output, failed := run(t, folder, "go", "list", "-deps", "."); failed || !strings.Contains(output, "github.com/shop/memcached-operator/controllers") {
		t.Errorf("the operator has no packages: %.500s", output)
	}
}

func TestRenameRefusesBadNamesInOneSentence(t *testing.T) {
	folder := copied(t)
	const prefix, repo = "registry.shop.io/team/memcached-operator", "github.com/shop/memcached-operator"
	for want, arguments := range map[string][]string{
		"Usage: hack/rename.sh DOMAIN PREFIX REPO": {"shop.io"},
		"DOMAIN is 'Shop'":                         {"Shop", prefix, repo},
		"PREFIX is 'shop:v1'":                      {"shop.io", "shop:v1", repo},
		"REPO is 'https://github.com/shop'":        {"shop.io", prefix, "https://github.com/shop"},
	} {
		output, failed := run(t, folder, append([]string{"hack/rename.sh"}, arguments...)...)
		if !failed || !strings.HasPrefix(output, want) || strings.Contains(output, "\n") {
			t.Errorf("%q: failed: %t, output %q", arguments, failed, output)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "README.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	output, failed := run(t, folder, "hack/rename.sh", "shop.io", prefix, repo)
	if !failed || !strings.HasPrefix(output, "The checkout has changes that no commit contains") {
		t.Errorf("with changes: failed: %t, output %q", failed, output)
	}
}
