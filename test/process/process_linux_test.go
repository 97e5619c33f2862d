// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// parentVariable is an environment variable that makes the test binary start a child and wait to be killed.
const parentVariable = "PROCESS_TEST_PARENT"

func TestChildEndsWithKilledParent(t *testing.T) {
	if os.Getenv(parentVariable) != "" {
		fmt.Println("child", start(t, "exec sleep 60").Pid())
		select {}
	}
	parent := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChildEndsWithKilledParent$")
	parent.Env = append(os.Environ(), parentVariable+"=1", "TMPDIR="+t.TempDir()) // a killed parent cannot remove its temporary directories
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var child int
	_, scanErr := fmt.Fscanf(out, "child %d\n", &child)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	if scanErr != nil {
		t.Fatal(scanErr)
	}
	for deadline := time.Now().Add(10 * time.Second); running(child); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = syscall.Kill(child, syscall.SIGKILL)
			t.Fatal("the child outlived its parent")
		}
	}
}

// running reports whether a process exists and is not a zombie.
func running(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
