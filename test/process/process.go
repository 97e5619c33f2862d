// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package process runs child processes that never outlive what started them: each writes its output to a file, is ended
// by Stop, and on Linux ends with its parent even when the parent is killed.
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

// tailLines is how much of its log a process shows when it ends too early.
const tailLines = 20

// Spec says what to run.
type Spec struct {
	// Name is what messages call the process.
	Name string
	// Path is the executable file.
	Path string
	// Args are its arguments, without the name of the command.
	Args []string
	// Env is its whole environment: nothing is inherited.
	Env []string
	// Dir is its working directory.
	Dir string
	// LogFile receives everything that it prints.
	LogFile string
}

// Process is a running child process.
type Process struct {
	spec Spec
	cmd  *exec.Cmd
	done chan struct{}
}

// Start runs what the spec says, in a process group of its own: a Ctrl-C in the terminal is for the parent to act on.
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
		// Linux ends the child with the thread that started it, so that thread must live as long as the child.
		runtime.LockOSThread()
		defer func() { _ = log.Close() }()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // Err tells from the state how the process has ended
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", spec.Name, err)
	}
	return p, nil
}

// Name is what messages call the process.
func (p *Process) Name() string { return p.spec.Name }

// Pid is the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says that and how the process has ended, with the tail of its log. It waits for the end of the process.
func (p *Process) Err() error {
	<-p.done
	status := p.cmd.ProcessState
	tail := p.Tail(tailLines)
	if tail == "" {
		return fmt.Errorf("%s ended by itself (%s) and printed nothing", p.spec.Name, status)
	}
	return fmt.Errorf("%s ended by itself (%s); the end of its log:\n%s", p.spec.Name, status, tail)
}

// Stop asks the process to end and kills it when it has not done so within the grace period. It returns when the process
// is gone; an error says that it had to be killed. A process that has ended already is fine.
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

// Tail returns the last lines that the process printed.
func (p *Process) Tail(lines int) string {
	log, err := os.ReadFile(p.spec.LogFile)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(log), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// UntilServing waits until a GET of the URL answers 200 OK. It polls, since readiness cannot be watched. The end of the process
// ends the wait.
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
