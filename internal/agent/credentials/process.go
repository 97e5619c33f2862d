// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"errors"
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
	Started int `json:"started"`
}

// processes finds memcached, and sends it SIGHUP, unless it has ended. On SIGHUP, memcached reads its files again.
type processes interface {
	find() (Process, error)
	hangUp(process Process) error
}

// procfs finds and signals processes of the program with this name, or of any program without a name, by means of the files of /proc.
type procfs struct {
	files fs.FS
	name  string
}

// find implements processes. It returns the oldest process of the program: a younger one may be somebody's memcached --help.
func (p procfs) find() (oldest Process, err error) {
	entries, err := fs.ReadDir(p.files, ".")
	for _, entry := range entries {
		if id, notANumber := strconv.Atoi(entry.Name()); notANumber == nil {
			process := p.read(id)
			if process != (Process{}) && (oldest == (Process{}) || process.Started < oldest.Started) {
				oldest = process
			}
		}
	}
	return oldest, err
}

// Indexes of fields in /proc/PID/stat. Index 0 is the first field after the program's name: field 3 in proc_pid_stat(5).
const (
	stateField   = 0
	startedField = 22 - 3
)

// read returns the process with this ID. It returns the zero value if the process has ended, or runs another program.
func (p procfs) read(id int) Process {
	stat, err := fs.ReadFile(p.files, path.Join(strconv.Itoa(id), "stat"))
	if err != nil {
		return Process{}
	}
	// The program's name is in parentheses, and may contain spaces and parentheses.
	_, text, _ := strings.Cut(string(stat), " (")
	end := max(strings.LastIndexByte(text, ')'), 0)
	fields := strings.Fields(strings.TrimPrefix(text[end:], ")"))
	if p.name != "" && text[:end] != p.name || len(fields) <= startedField || fields[stateField] == "Z" || fields[stateField] == "X" {
		return Process{}
	}
	started, err := strconv.Atoi(fields[startedField])
	if err != nil {
		return Process{}
	}
	return Process{ID: id, Started: started}
}

// StartOf returns when the process with this ID has started, as in Process, 0 if there is none.
func StartOf(id int) int { return procfs{files: os.DirFS("/proc")}.read(id).Started }

var errGone = errors.New("memcached has ended")

// hangUp implements processes.
func (p procfs) hangUp(process Process) error {
	if process == (Process{}) || p.read(process.ID) != process { // the ID 0 means every process of this group
		return errGone
	}
	return syscall.Kill(process.ID, syscall.SIGHUP)
}
