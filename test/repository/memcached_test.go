// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

// hack/memcached.sh uses the memcached in the PATH if it is new enough. Otherwise, or with the argument unpack, the script downloads
// the package of Debian, even on Ubuntu. The download needs apt-get.
func TestMemcachedOfTheMachine(t *testing.T) {
	const (
		wanted = "1.6.45" // the version in the manager.yaml that the test writes
		keyed  = "/keyring.gpg"
		debian = "deb [signed-by=FOLDER/keyring.gpg] http://deb.debian.org/debian forky main\n"
		mirror = "deb [signed-by=FOLDER/keyring.gpg] http://mirror.example.com/linux forky main\n"
		noKeys = "Debian's packages cannot be verified without FOLDER/keyring.gpg: install the package debian-archive-keyring."
	)
	for name, test := range map[string]struct {
		version, keyring, argument string
		system                     string // ID in os-release; default: ubuntu
		noApt                      bool
		// sources is the sources.list that the script must write for apt-get. says is a text that the output of the script must contain. If
		// the script prints nothing and writes no sources.list, the output of bin/memcached must contain the text.
		sources, says string
	}{
		"the version wanted":                {version: wanted, says: "memcached 1.6.45"},
		"a later version":                   {version: "1.6.101", says: "memcached 1.6.101"},
		"an older version":                  {version: "1.6.9", keyring: keyed, sources: debian},
		"an older version without a key":    {version: "1.6.9", says: noKeys},
		"an older version without apt-get":  {version: "1.6.9", noApt: true, says: "Install memcached 1.6.45 or later: without apt-get, it cannot be downloaded."},
		"an older version on Debian":        {version: "1.6.9", keyring: keyed, system: "debian", sources: mirror},
		"none in the PATH":                  {keyring: keyed, sources: debian},
		"the content of the image":          {version: wanted, keyring: keyed, argument: "unpack", sources: debian},
		"the content of it without apt-get": {version: wanted, argument: "unpack", noApt: true, says: "without apt-get, it cannot be downloaded."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			put := func(path, content string) {
				t.Helper()
				path = filepath.Join(folder, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			put("os-release", "NAME=Linux\nID="+cmp.Or(test.system, "ubuntu")+"\nID_LIKE=debian\n")
			put("apt/sources.list.d/main.sources", "Types: deb\nURIs: http://mirror.example.com/linux\n")
			put("config/manager/manager.yaml", "- name: RELATED_IMAGE_MEMCACHED\n  value: memcached:"+wanted+"\n")
			for _, script := range []string{"hack/memcached.sh", "hack/cluster/debian.sh"} {
				put(script, strings.NewReplacer("/etc/os-release", folder+"/os-release", "/etc/apt", folder+"/apt",
					"/usr/share/keyrings/debian-archive-keyring.gpg", folder+"/keyring.gpg").Replace(repository.Read(t, script)))
			}
			if test.keyring != "" {
				put(test.keyring, "")
			}
			if test.version != "" {
				put("tools/memcached", "#!/bin/sh\necho memcached "+test.version+"\n")
			}
			if !test.noApt {
				put("tools/apt-get", "#!/bin/sh\nexit 1\n") // fails, so the script ends after it has written sources.list
			}
			for _, tool := range []string{"awk", "bash", "cat", "chmod", "cksum", "dirname", "flock", "grep", "head", "mkdir", "rm", "sed", "sort"} {
				path, err := exec.LookPath(tool)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(path, filepath.Join(folder, "tools", tool)); err != nil {
					t.Fatal(err)
				}
			}
			output, _ := run(t, folder, "env", "PATH="+folder+"/tools", "hack/memcached.sh", test.argument)
			sources, _ := os.ReadFile(filepath.Join(folder, "bin", "images", "memcached", "sources.list"))
			if want := strings.ReplaceAll(test.sources, "FOLDER", folder); string(sources) != want {
				t.Errorf("apt-get has the sources %q, want %q", sources, want)
			}
			if output == "" && test.sources == "" {
				output, _ = run(t, folder, "bin/memcached", "-V")
			}
			if want := strings.ReplaceAll(test.says, "FOLDER", folder); !strings.Contains(output, want) {
				t.Errorf("the output is %q, want %q", output, want)
			}
		})
	}
}

func run(t *testing.T, folder string, arguments ...string) (output string, failed bool) {
	t.Helper()
	command := exec.Command(arguments[0], arguments[1:]...)
	command.Dir = folder
	text, err := command.CombinedOutput()
	return strings.TrimSpace(string(text)), err != nil
}
