// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// Process identifies a process of memcached, even if another process gets the same ID later. The zero value means no process.
type Process struct {
	ID int `json:"id"`
	// Started is the start of the process, in clock ticks since the machine booted.
	Started uint64 `json:"started"`
}

// processes finds and signals memcached.
type processes interface {
	// find returns the running memcached, or the zero value.
	find() (Process, error)
	// hangUp sends SIGHUP to the process, unless it has ended. On SIGHUP, memcached reads its files again.
	hangUp(process Process) error
}

// newProcfs returns a procfs that finds the processes of the program with this name. The folder is /proc, or a similar one in a
// test.
func newProcfs(folder, name string) procfs {
	return procfs{files: os.DirFS(folder), name: name}
}

// procfs finds and signals processes by means of /proc.
type procfs struct {
	// files are the files of /proc.
	files fs.FS
	name  string
}

// find implements processes. It returns the oldest process of the program: a younger one may be somebody's memcached --help.
func (p procfs) find() (Process, error) {
	entries, err := fs.ReadDir(p.files, ".")
	if err != nil {
		return Process{}, err
	}
	var oldest Process
	for _, entry := range entries {
		id, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		process, err := p.read(id)
		if err != nil || process == (Process{}) {
			continue // the process has ended, or is another program
		}
		if oldest == (Process{}) || process.Started < oldest.Started {
			oldest = process
		}
	}
	return oldest, nil
}

// read returns the process with this ID. If the process has ended, read returns the zero value or an error. If the process runs
// another program, read returns the zero value.
func (p procfs) read(id int) (Process, error) {
	text, err := fs.ReadFile(p.files, path.Join(strconv.Itoa(id), "stat"))
	if err != nil {
		return Process{}, err
	}
	return parseStat(id, string(text), p.name)
}

// Indexes of fields in /proc/PID/stat. Index 0 is the first field after the program's name: field 3 in proc_pid_stat(5).
const (
	stateField   = 0
	startedField = 22 - 3
)

var errStat = errors.New("unexpected content of /proc/PID/stat")

// parseStat parses /proc/PID/stat. It returns the zero value if the process has ended or is not the program with this name.
func parseStat(id int, text, name string) (Process, error) {
	// The program's name is in parentheses, and may contain spaces and parentheses.
	begin, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if begin < 0 || end < begin {
		return Process{}, errStat
	}
	fields := strings.Fields(text[end+1:])
	if len(fields) <= startedField {
		return Process{}, errStat
	}
	if text[begin+1:end] != name || fields[stateField] == "Z" || fields[stateField] == "X" {
		return Process{}, nil
	}
	started, err := strconv.ParseUint(fields[startedField], 10, 64)
	if err != nil {
		return Process{}, fmt.Errorf("%w: %w", errStat, err)
	}
	return Process{ID: id, Started: started}, nil
}

var errGone = errors.New("memcached has ended")

// hangUp implements processes.
func (p procfs) hangUp(process Process) error {
	// The handle stays bound to this process, even if its ID is reused.
	handle, err := os.FindProcess(process.ID)
	if err != nil {
		return err
	}
	defer func() { _ = handle.Release() }()
	if found, err := p.read(process.ID); err != nil || found != process {
		return errGone
	}
	return handle.Signal(syscall.SIGHUP)
}
