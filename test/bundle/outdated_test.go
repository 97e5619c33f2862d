// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package bundle_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

const goStandIn = `#!/bin/sh
[ "$1 $2" = "list -m" ] || exit 1
shift 2
if [ "$1" != -u ]; then
	[ "$1" = example.org/tool@v1.0.0 ] && echo example.org/tool v1.0.0
	exit
fi
for module; do
	case $module in
	example.org/old | example.org/command) echo "$module v1.0.0 2001-02-03 v1.1.0" ;;
	example.org/newest | example.org/tool@*) echo "${module%@*} v1.0.0 2001-02-03 -" ;;
	example.org/recent) echo "$module v1.0.0 2999-01-01 v1.1.0" ;;
	example.org/unlisted) echo "$module v1.0.0 2001-02-03 ?" ;;
	example.org/*) echo "$module v1.0.0 2001-02-03 v1.1.0" ;;
	esac
done
`

// outdated runs hack/release/outdated.sh in a folder with two modules, and returns its output and whether it failed. module is the
// content of go.mod in the root.
func outdated(t *testing.T, module string) (output string, failed bool) {
	t.Helper()
	folder := t.TempDir()
	put(t, filepath.Join(folder, "hack", "release", "outdated.sh"), repository.Read(t, "hack", "release", "outdated.sh"))
	put(t, filepath.Join(folder, "bin", "go"), goStandIn)
	put(t, filepath.Join(folder, "Makefile"), "TOOL_VERSION ?= v1.0.0\n$(TOOL):\n\t$(call go-install,example.org/tool/cmd/tool,$(TOOL_VERSION))\n")
	put(t, filepath.Join(folder, "go.mod"), module)
	put(t, filepath.Join(folder, "hack", "node", "go.mod"), "module example.org/m/node\n\nrequire example.org/newest v1.0.0\n")
	command := exec.Command(filepath.Join(folder, "hack", "release", "outdated.sh"))
	command.Env = append(os.Environ(), "PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"))
	text, err := command.CombinedOutput()
	return string(text), err != nil
}

// outdated.sh must name each direct dependency or tool whose version is older than 90 days although a newer version exists, and must
// then fail. It must also name a dependency whose versions the module proxy does not list, but must not fail because of it.
func TestDependenciesThatNobodyRaisesAreNamed(t *testing.T) {
	fine := "module example.org/m\n\nrequire (\n\texample.org/newest v1.0.0\n\texample.org/recent v1.0.0\n)\n\nrequire (\n" +
		"\texample.org/indirect v1.0.0 // indirect\n)\n"
	if output, failed := outdated(t, fine); failed || output != "No dependency with a newer version is older than 90 days.\n" {
		t.Errorf("failed: %t, output %q", failed, output)
	}
	for name, test := range map[string]struct{ change, want string }{
		"a direct one":  {"\nrequire example.org/old v1.0.0\n", "- example.org/old v1.0.0 is of 2001-02-03, and v1.1.0 is there: raise it\n"},
		"a command":     {"\ntool (\n\texample.org/command/cmd/c\n)\n\nrequire (\n\texample.org/command v1.0.0 // indirect\n)\n", "- example.org/command v1.0.0 is of"},
		"a single tool": {"\ntool example.org/command\n\nrequire example.org/command v1.0.0 // indirect\n", "- example.org/command v1.0.0 is of"},
	} {
		output, failed := outdated(t, fine+test.change)
		if !failed || !strings.Contains(output, test.want) || !strings.Contains(output, "\nDependencies older than 90 days: 1.\n") {
			t.Errorf("%s: failed: %t, output %q, want %q", name, failed, output, test.want)
		}
	}
	output, failed := outdated(t, fine+"\nrequire example.org/unlisted v1.0.0\n")
	if want := "- example.org/unlisted v1.0.0: the proxy does not list its versions; look at its releases\n"; failed || !strings.HasPrefix(output, want) {
		t.Errorf("unlisted: failed: %t, output %q, want %q", failed, output, want)
	}
}

// outdated.sh reads the version of a tool in the Makefile only if a variable with the suffix _VERSION holds it.
func TestEveryToolOfTheMakefileIsLookedUp(t *testing.T) {
	makefile := repository.Read(t, "Makefile")
	if calls := strings.Count(makefile, "$(call go-install,"); calls < 5 || calls != strings.Count(makefile, "_VERSION))\n") {
		t.Errorf("the Makefile installs %d tools, not all with a version that outdated.sh reads", calls)
	}
}
