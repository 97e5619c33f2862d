// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package credentials

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	nodes "github.com/example/memcached-operator/internal/ask"
	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// container is a shell script that sets up the host name and the file system of memcached's container, and then becomes the launcher:
// memcached's parent process. Its arguments are the directory with memcached's files, and the command line of the launcher.
const container = `set -e
echo cache-0 >/proc/sys/kernel/hostname
mount -t tmpfs none /run && mkdir /run/memcached && mount --bind "$1" /run/memcached
shift
exec "$@"`

// start is a shell script in place of memcached. It replaces the ports by free ones, adds its process to the folder in which the agent
// looks for processes, and becomes memcached.
const start = `#!/bin/sh
for argument; do
	shift
	set -- "$@" "$(echo "$argument" | sed 's|127.0.0.1:11211|%[1]s|; s|\*:11212|*:%[2]s|')"
done
ln -s "/proc/$$" "%[3]s/$$"
exec %[4]s/memcached --library-path %[5]s %[6]s -u root "$@"
`

// launchedPod is a pod whose memcached a launcher starts.
type launchedPod struct {
	*pod
	dir, status string
	launcher    *exec.Cmd
}

// newLaunchedPod prepares a pod with TLS, and with users unless their Secret is nil. It starts neither the agent nor the launcher.
func newLaunchedPod(t *testing.T, tlsSecret, usersSecret map[string][]byte) *launchedPod {
	t.Helper()
	p := &launchedPod{dir: t.TempDir(), status: freeAddress(t), pod: &pod{t: t, plaintext: freeAddress(t), named: true}}
	p.tls, p.users = newVolume(t, tlsSecret), newVolume(t, usersSecret)
	p.config = Config{
		TLS: freeAddress(t), TLSSecret: p.tls.folder, ClientCA: true, UsersSecret: p.users.folder, Folder: t.TempDir(),
		TerminationLog: filepath.Join(t.TempDir(), "log"), Processes: t.TempDir(),
	}
	if usersSecret == nil {
		p.config.UsersSecret = ""
	}
	must(t, os.WriteFile(p.config.TerminationLog, nil, 0o600))
	must(t, os.Mkdir(filepath.Join(p.dir, "arguments"), 0o700))
	must(t, os.Mkdir(filepath.Join(p.dir, "state"), 0o700))
	loader, err := os.ReadFile(inRootfs(t, "usr/lib*/ld-linux-*.so.*"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(p.dir, "memcached"), loader, 0o700))
	_, port, err := net.SplitHostPort(p.config.TLS)
	must(t, err)
	libraries, err := filepath.Abs(inRootfs(t, "usr/lib/*-linux-gnu*"))
	must(t, err)
	program, err := filepath.Abs(inRootfs(t, "usr/bin/memcached"))
	must(t, err)
	script := fmt.Sprintf(start, p.plaintext, port, p.config.Processes, p.dir, libraries, program)
	must(t, os.WriteFile(filepath.Join(p.dir, "start"), []byte(script), 0o700))
	output, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(p.dir, "launcher"), "../../../cmd/launcher").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	t.Cleanup(func() {
		p.killAgent()
		p.end(syscall.SIGKILL)
	})
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// launch starts the launcher with these flags. Without flags, it is the launcher of a node.
func (p *launchedPod) launch(flags ...string) {
	p.t.Helper()
	if len(flags) == 0 {
		flags = []string{"--template=0123", "--arguments=" + filepath.Join(p.dir, "arguments")}
	}
	command := append([]string{"--mount", "--uts", "sh", "-c", container, "sh", p.config.Folder, filepath.Join(p.dir, "launcher")}, flags...)
	p.launcher = exec.Command("unshare", append(command,
		"--state="+filepath.Join(p.dir, "state"), "--listen="+p.status, "--memcached="+p.plaintext, "--program="+filepath.Join(p.dir, "start"))...)
	p.launcher.Stdout, p.launcher.Stderr = &p.output, &p.output
	must(p.t, p.launcher.Start())
	id := strconv.Itoa(p.launcher.Process.Pid)
	must(p.t, os.Symlink("/proc/"+id, filepath.Join(p.config.Processes, id)))
}

func (p *launchedPod) end(signal os.Signal) int {
	if p.launcher == nil {
		return 0
	}
	_ = p.launcher.Process.Signal(signal)
	_ = p.launcher.Wait()
	code := p.launcher.ProcessState.ExitCode()
	p.launcher = nil
	return code
}

// assign writes memcached's command line for the launcher, and returns the hash of the command line. The changes are pairs of old
// and new text in the default command line.
func (p *launchedPod) assign(changes ...string) string {
	p.t.Helper()
	list, err := protocol.ParseList(strings.NewReplacer(changes...).Replace("-p 11211 -U 0 -m 64 -c 1055 -t 4 -I 1m -W -X " +
		"-Z -l notls:127.0.0.1:11211,*:11212 -Y /run/memcached/current/users -o read_buf_mem_limit=44," +
		"ssl_chain_cert=/run/memcached/current/tls.crt,ssl_key=/run/memcached/current/tls.key,ssl_min_version=2," +
		"ssl_ca_cert=/run/memcached/current/ca.crt,ssl_verify_mode=2\n"))
	must(p.t, err)
	section := protocol.Section{Default: list.Hash(), Nodes: map[int]string{0: list.Hash()}}
	for key, text := range map[string]string{protocol.ListKey(list.Hash()): list.String(), protocol.SectionKey("0123"): section.String()} {
		file := filepath.Join(p.dir, "arguments", key)
		must(p.t, os.WriteFile(file+"~", []byte(text), 0o600))
		must(p.t, os.Rename(file+"~", file))
	}
	return list.Hash()
}

// runs waits until the command line with this hash is in effect, and the agent has verified this memcached. It returns the launcher's
// status.
func (p *launchedPod) runs(hash string) protocol.Status {
	p.t.Helper()
	var status protocol.Status
	p.await("the arguments "+hash, func(Status) bool {
		var err error
		status, err = nodes.New().Launcher(context.Background(), "http://"+p.status)
		return err == nil && status.Hash == hash && status.Restarting == ""
	})
	p.await("the verification", func(s Status) bool {
		return s.Succeeded && strings.Contains(p.log.String(), fmt.Sprintf("credentials\" process=%d ", p.memcachedID()))
	})
	return status
}

// memcachedID returns the ID of the process that the agent finds, or 0 for none. The process must be a child of the launcher.
func (p *launchedPod) memcachedID() int {
	p.t.Helper()
	found, err := p.agent.processes.find()
	must(p.t, err)
	if found == (Process{}) {
		return 0
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", found.ID))
	if err == nil && strings.Fields(string(stat))[3] != strconv.Itoa(p.launcher.Process.Pid) {
		p.t.Fatalf("the agent takes for memcached: %s", stat)
	}
	return found.ID
}

// The agent must find and signal a memcached whose parent is the launcher. The launcher must reach this memcached, although memcached
// demands a login from clients, and TLS from clients outside the pod.
func TestTheAgentAndTheLauncher(t *testing.T) {
	t.Parallel()
	ca := issue(t, 1, nil, authority)
	first, second := issue(t, 0xa1, ca), issue(t, 0xb2, ca)
	p := newLaunchedPod(t, first.tlsSecret(t, ca), usersSecret("bob", "pass:word 1", "eve", "2"))
	hash := p.assign()
	p.runAgent()
	p.await("the start", func(s Status) bool { return s.Started })
	p.launch()
	p.runs(hash)
	p.mustServe(first, first)

	p.rotate(second.tlsSecret(t, ca), nil)
	p.mustServe(second, second)
	if p.memcachedID() == 0 {
		t.Error("memcached has ended by the signal to read its certificate")
	}

	bob, err := p.login("bob", "pass:word 1")
	must(t, err)
	if reply, err := ask(t, bob, "set key 0 0 5\r\nhello"); err != nil || reply != "STORED" {
		t.Fatalf("%q, %v", reply, err)
	}
	if status := p.runs(p.assign("-m 64", "-m 128")); status.Restart != nil {
		t.Errorf("more memory: %+v", status.Restart)
	}
	mustLive(t, bob)
	if status := p.runs(p.assign("-t 4", "-t 5")); status.Restart == nil || status.Restart.ItemsBefore != 1 || status.Restart.ItemsAfter != 0 {
		t.Errorf("the restart was %+v", status.Restart)
	}
	p.mustServe(second, second)

	former := p.memcachedID()
	third := issueFor(t, 0xc3, rsaKey(t, 2048), ca) // the key has another algorithm than before
	p.rotate(third.tlsSecret(t, ca), usersSecret("bob", "pass:word 1"))
	p.await("the report", func(s Status) bool {
		return s.RestartRequired[ReasonUserRemoved] && s.RestartRequired[ReasonCertificateRemoved]
	})
	p.runs(p.assign("-t 4", "-t 5", "ssl_verify_mode=2\n", "ssl_verify_mode=2\nrestartedAt=2026-11-24T07:00:00Z\n"))
	p.await("the end of the report", func(s Status) bool {
		return !s.RestartRequired[ReasonUserRemoved] && !s.RestartRequired[ReasonCertificateRemoved]
	})
	p.mustServe(third, third)
	if p.memcachedID() == former {
		t.Error("it is the same process")
	}
	if _, err := p.login("eve", "2"); err == nil {
		t.Error("a removed user can log in")
	}
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Errorf("the container ended with %d", code)
	}
	p.mustKeepSecrets("pass:word")
}
