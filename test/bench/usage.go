// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"
)

const mebibyte = 1 << 20

// usage is the CPU time and the memory of a process, according to Linux.
type usage struct {
	// cpu is the CPU time of all threads.
	cpu time.Duration
	// resident is the memory in use, and peak the largest memory in use so far, in MiB.
	resident, peak float64
	// program is the part of resident that consists of file pages, such as the program itself.
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

// memoryOfMachine returns the memory of this machine, such as "8 GiB", or an empty string if it is unknown.
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
