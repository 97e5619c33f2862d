// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
)

type process struct {
	pid     int
	started time.Time
	// ended receives the exit status.
	ended  chan syscall.WaitStatus
	errors *lastLine
}

// start starts a program with the arguments in a list. The caller must have locked its goroutine to its thread: when this thread ends,
// the kernel kills the program.
func start(program string, list protocol.List) (*process, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &process{started: time.Now(), ended: make(chan syscall.WaitStatus, 1), errors: &lastLine{}}
	p.pid, err = syscall.ForkExec( //nolint:gosec // the arguments match the pattern of what the operator writes
		path, append([]string{program}, list.Fields()...), &syscall.ProcAttr{
			Env: os.Environ(), Files: []uintptr{0, 1, write.Fd()}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
		})
	_ = write.Close() // the child has its own descriptor
	if err != nil {
		return nil, errors.Join(err, read.Close())
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(io.MultiWriter(p.errors, os.Stderr), read) // until the child ends
		_ = read.Close()                                          // everything was read
	}()
	go p.wait(copied)
	return p, nil
}

// wait waits until memcached ends, and sends its exit status to ended. A parent that is the first process of its container must also
// reap orphaned processes.
func (p *process) wait(copied <-chan struct{}) {
	child := p.pid
	if os.Getpid() == 1 {
		child = -1
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(child, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || pid == p.pid:
			select {
			case <-copied:
			case <-time.After(time.Second): // a child of memcached may still hold the pipe
			}
			p.ended <- status
			return
		}
	}
}

func (p *process) signal(signal syscall.Signal) error { return syscall.Kill(p.pid, signal) }

// exitCode returns the exit code that a shell would report.
func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// lastLine is a writer that keeps the beginning of the last line that is not empty.
type lastLine struct {
	mutex sync.Mutex
	line  string
}

// maxReason is how many bytes of a line or of a reason are kept.
const maxReason = 256

// Write implements io.Writer.
func (l *lastLine) Write(text []byte) (int, error) {
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if line := strings.TrimSpace(lines[len(lines)-1]); line != "" {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.line = line[:min(len(line), maxReason)]
	}
	return len(text), nil
}

func (l *lastLine) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.line
}
