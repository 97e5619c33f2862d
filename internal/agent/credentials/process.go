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

// Process identifies a running memcached, even if its process ID is reused later. The zero value means none.
type Process struct {
	ID int `json:"id"`
	// Started is the time of its start, in ticks since the machine booted.
	Started uint64 `json:"started"`
}

// processes finds and signals memcached.
type processes interface {
	// find returns the memcached that runs, or the zero value.
	find() (Process, error)
	// hangUp sends SIGHUP, which makes memcached read its files.
	hangUp(process Process) error
}

// newProcfs returns the processes of the pod.
func newProcfs(folder, name string) procfs {
	return procfs{files: os.DirFS(folder), name: name}
}

// procfs are the processes of the pod.
type procfs struct {
	// files are those of /proc.
	files fs.FS
	// name is the program's name.
	name string
}

// find implements processes. Of several, it returns the oldest: someone may run memcached --help in the container.
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
			continue // it has ended, or is another program
		}
		if oldest == (Process{}) || process.Started < oldest.Started {
			oldest = process
		}
	}
	return oldest, nil
}

// read returns a process, or the zero value if it is no running memcached.
func (p procfs) read(id int) (Process, error) {
	text, err := fs.ReadFile(p.files, path.Join(strconv.Itoa(id), "stat"))
	if err != nil {
		return Process{}, err
	}
	return parseStat(id, string(text), p.name)
}

// Fields of /proc/PID/stat after the name of the program: see proc_pid_stat(5), which counts from 1 and has two before them.
const (
	stateField   = 0
	startedField = 22 - 3
)

var errStat = errors.New("unexpected content of /proc/PID/stat")

// parseStat returns the process that /proc/PID/stat describes, if it has that name and runs.
func parseStat(id int, text, name string) (Process, error) {
	// The name may contain spaces and parentheses.
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
	// The handle stays bound to this process, even if the ID is reused.
	handle, err := os.FindProcess(process.ID)
	if err != nil {
		return err
	}
	defer func() { _ = handle.Release() }() // nobody waits for it
	if found, err := p.read(process.ID); err != nil || found != process {
		return errGone
	}
	return handle.Signal(syscall.SIGHUP)
}
