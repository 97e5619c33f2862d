// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

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

// keepFileLimit keeps memcached from lowering its limit of open files to its limit of connections. Otherwise, clients that use all
// connections would leave no file descriptor for a new connection to a node, or for the file with the routes. memcached would then end,
// because it cannot read its routes. A filter of system calls makes each later change of the limit succeed without effect, in this thread
// and in the programs that it starts. keepFileLimit fails if the architecture is unknown, or if the current limit is below atLeast. It
// lowers the limit to the larger of mostFiles and atLeast, unless the limit is already lower.
func keepFileLimit(atLeast int) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	arch, known := architectures[runtime.GOARCH]
	if !known || limit.Cur < uint64(atLeast) { //nolint:gosec // a count
		return fmt.Errorf("a limit of %d open files on %s cannot be kept", limit.Cur, runtime.GOARCH)
	}
	limit = boundFiles(limit, uint64(atLeast)) //nolint:gosec // a count
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	filter := limitFilter(arch)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]} //nolint:gosec // ten
	_, _, failure := unix.Syscall(
		unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)), //nolint:gosec // the kernel reads it
	)
	if failure != 0 {
		return failure
	}
	return nil
}

// mostFiles bounds the limit of open files. memcached's table of connections has as many entries as the limit, and "stats conns" reads the
// whole table. Under a container runtime that sets no limit, a process may open a billion files.
const mostFiles = 1 << 16

func boundFiles(limit unix.Rlimit, atLeast uint64) unix.Rlimit {
	limit.Max = min(limit.Max, max(atLeast, mostFiles))
	limit.Cur = min(limit.Cur, limit.Max)
	return limit
}

// architectures maps each GOARCH of the images to the kernel's number of the architecture.
var architectures = map[string]uint32{
	"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "ppc64le": unix.AUDIT_ARCH_PPC64LE, "s390x": unix.AUDIT_ARCH_S390X,
}

// limitFilter returns a seccomp program: prlimit64 with RLIMIT_NOFILE and a new limit succeeds without effect. All other system
// calls are allowed.
func limitFilter(arch uint32) []unix.SockFilter {
	const numberAt, archAt, resourceAt, limitAt = 0, 4, 24, 32 // offsets in struct seccomp_data
	low := uint32(0)
	if runtime.GOARCH == "s390x" { // big-endian: the lower half of an argument comes second
		low = 4
	}
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	is := func(value uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: yes, Jf: no, K: value}
	}
	answer := func(action uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
	}
	return []unix.SockFilter{
		load(archAt), is(arch, 0, 7),
		load(numberAt), is(unix.SYS_PRLIMIT64, 0, 5),
		load(resourceAt + low), is(unix.RLIMIT_NOFILE, 0, 3),
		load(limitAt + low), is(0, 1, 0),
		answer(unix.SECCOMP_RET_ERRNO),
		answer(unix.SECCOMP_RET_ALLOW),
	}
}
