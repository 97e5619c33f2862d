// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// asAgent is an environment variable. It makes this test binary run as the agent, in a process with its own signals and exit code.
const asAgent = "RUN_AS_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(asAgent) != "" {
		main()
	}
	os.Exit(m.Run())
}

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	agent := exec.CommandContext(t.Context(), self, args...)
	agent.Env = []string{asAgent + "=1"}
	return agent
}

func TestExitCodes(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for arg, want := range map[string]int{"--help": 0, "--nonsense": 2, "--listen=" + listener.Addr().String(): 1} {
		output, err := command(t, arg).CombinedOutput()
		got := 0
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			got = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if got != want || strings.Contains(string(output), "goroutine") || len(output) == 0 {
			t.Errorf("%s: exit code %d, want %d:\n%s", arg, got, want, output)
		}
	}
}

func TestSIGTERMEndsTheAgent(t *testing.T) {
	agent := command(t, "--listen=127.0.0.1:0")
	log, err := agent.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	if !lines.Scan() || !strings.Contains(lines.Text(), `"msg":"Serving"`) {
		t.Errorf("the log begins with %s", lines.Text())
	}
	if err := agent.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		t.Errorf("the log goes on with %s", lines.Text())
	}
	if err := agent.Wait(); err != nil {
		t.Error(err)
	}
}
