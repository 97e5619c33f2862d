// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package process runs child processes whose output goes to files. On Linux, the kernel kills them when their parent ends, even if
// the parent is killed.
package process

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const tailLines = 20

// Spec describes a process.
type Spec struct {
	// Name identifies the process in messages.
	Name string
	// Path is the executable file.
	Path string
	// Args are the arguments, without the name of the command.
	Args []string
	// Env is the whole environment. If it is nil, the process inherits that of its parent.
	Env []string
	// Dir is the working directory.
	Dir string
	// LogFile is the path of a file, to which all output is appended.
	LogFile string
}

// Process is a child process that Start has started.
type Process struct {
	spec Spec
	cmd  *exec.Cmd
	done chan struct{}
}

// Start starts a process in a new process group, so Ctrl-C in a terminal interrupts only the parent.
func Start(spec Spec) (*Process, error) {
	log, err := os.OpenFile(spec.LogFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", spec.Name, err)
	}
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env, cmd.Dir = spec.Env, spec.Dir
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, attributes()
	p := &Process{spec: spec, cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Linux kills the child when the thread that started the child ends, even if other threads run on. So this thread waits for the
		// child.
		runtime.LockOSThread()
		defer func() { _ = log.Close() }()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // Err reports how the process ended
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", spec.Name, err)
	}
	return p, nil
}

// Name identifies the process in messages.
func (p *Process) Name() string { return p.spec.Name }

// Pid returns the process ID.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err waits until the process ends. The error says how the process ended, and has the last lines of the log.
func (p *Process) Err() error {
	<-p.done
	status := p.cmd.ProcessState
	tail := p.Tail(tailLines)
	if tail == "" {
		return fmt.Errorf("%s ended by itself (%s) and printed nothing", p.spec.Name, status)
	}
	return fmt.Errorf("%s ended by itself (%s); the end of its log:\n%s", p.spec.Name, status, tail)
}

// Stop sends SIGTERM and, after the grace period, SIGKILL. It returns when the process has ended, with an error if the process
// outlived the grace period. Stopping a process that has already ended is not an error.
func (p *Process) Stop(grace time.Duration) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s: %w", p.spec.Name, err)
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(grace):
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing %s: %w", p.spec.Name, err)
	}
	<-p.done
	return fmt.Errorf("%s did not end within %s and was killed", p.spec.Name, grace)
}

// Tail returns the last lines of the log.
func (p *Process) Tail(lines int) string {
	log, err := os.ReadFile(p.spec.LogFile)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(log), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// UntilServing sends a GET to the URL once per period until the status of the response is 200 OK. It fails after the timeout, or
// when the process ends.
func (p *Process) UntilServing(ctx context.Context, url string, period, timeout time.Duration) error {
	serving := func(ctx context.Context) (bool, error) {
		select {
		case <-p.Done():
			return false, p.Err()
		default:
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil //nolint:nilerr // it does not listen yet
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	}
	if err := wait.PollUntilContextTimeout(ctx, period, timeout, true, serving); err != nil {
		return fmt.Errorf("waiting for %s to be ready: %w", p.spec.Name, err)
	}
	return nil
}
