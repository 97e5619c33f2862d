// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"testing/fstest"
)

func stat(name, state, started string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("1 (" + name + ") " + state + " 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 5 0 " + started + " 1 1")}
}

func TestTheOldestMemcachedIsFound(t *testing.T) {
	for name, test := range map[string]struct {
		files fstest.MapFS
		want  Process
	}{
		"none":             {fstest.MapFS{"1/stat": stat("pause", "S", "1"), "self": {}, "9/comm": {}}, Process{}},
		"one":              {fstest.MapFS{"1/stat": stat("pause", "S", "1"), "17/stat": stat("memcached", "S", "500")}, Process{17, 500}},
		"with a help text": {fstest.MapFS{"17/stat": stat("memcached", "S", "500"), "9/stat": stat("memcached", "R", "700")}, Process{17, 500}},
		"a zombie":         {fstest.MapFS{"17/stat": stat("memcached", "Z", "500")}, Process{}},
		"others":           {fstest.MapFS{"17/stat": stat("memcached-tool", "S", "5"), "18/stat": stat("a) (memcached", "S", "5"), "19/stat": {}}, Process{}},
	} {
		got, err := procfs{files: test.files, name: "memcached"}.find()
		if err != nil || got != test.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// A process that has ended gets no signal, and neither does another process that has the same ID now.
func TestTheSignal(t *testing.T) {
	// If the test ignored SIGHUP, as under nohup, the shell would also ignore SIGHUP and could not trap it. So the test catches SIGHUP,
	// which resets the signal to its default for child processes.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	defer signal.Stop(caught)
	sleeper := exec.CommandContext(t.Context(), "sh", "-c", `trap "echo hung up; exit" HUP; echo ready; while read -r line; do :; done`)
	input, err := sleeper.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	output, err := sleeper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	lines.Scan()
	p := procfs{files: os.DirFS("/proc"), name: "sh"}
	running := p.read(sleeper.Process.Pid)
	if running.Started == 0 {
		t.Fatalf("%+v", running)
	}
	if err := p.hangUp(Process{running.ID, running.Started - 1}); !errors.Is(err, errGone) {
		t.Errorf("the one before it: %v", err)
	}
	if err := p.hangUp(running); err != nil {
		t.Error(err)
	}
	_ = input.Close() // the shell runs the trap after its read has ended
	lines.Scan()
	if lines.Text() != "hung up" {
		t.Errorf("it says %q", lines.Text())
	}
	_ = sleeper.Wait()
	if err := p.hangUp(running); !errors.Is(err, errGone) {
		t.Errorf("after its end: %v", err)
	}
}
