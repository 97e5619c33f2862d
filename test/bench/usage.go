// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"
)

const mebibyte = 1 << 20

// usage is what Linux reports about a process.
type usage struct {
	// cpu is the processor time of all threads.
	cpu time.Duration
	// resident and peak are the current and the largest memory in use, in MiB.
	resident, peak float64
	// program is the part of the resident memory that consists of pages of files, such as the program itself.
	program float64
}

func usageOf(pid int) (usage, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return usage{}, fmt.Errorf("reading the usage of a process, which takes Linux: %w", err)
	}
	stat, err := process.Stat()
	if err != nil {
		return usage{}, err
	}
	status, err := process.NewStatus()
	if err != nil {
		return usage{}, err
	}
	return usage{
		cpu:      time.Duration(stat.CPUTime() * float64(time.Second)),
		resident: float64(status.VmRSS) / mebibyte,
		peak:     float64(status.VmHWM) / mebibyte,
		program:  float64(status.RssFile) / mebibyte,
	}, nil
}

// memoryOfMachine returns the memory of the machine as text; empty where it is unknown.
func memoryOfMachine() string {
	machine, err := procfs.NewDefaultFS()
	if err != nil {
		return ""
	}
	memory, err := machine.Meminfo()
	if err != nil || memory.MemTotalBytes == nil {
		return ""
	}
	return fmt.Sprintf("%.0f GiB", float64(*memory.MemTotalBytes)/(1<<30))
}
