// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package process

import "syscall"

// attributes cannot tie the child to its parent here: the child outlives a parent that is killed and cannot stop it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
