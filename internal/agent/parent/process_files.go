// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

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
