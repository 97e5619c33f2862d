// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// The schema of the API has the same defaults; these are for objects that did not pass through it.
const (
	defaultMemory      = 64 * mebibyte
	defaultMaxItemSize = mebibyte
	defaultConnections = 1024
	defaultThreads     = 4
	maxThreads         = 64
)

// sizingOf takes the sizing from the spec.
func sizingOf(mc *cachev1alpha1.Memcached) sizing {
	s := sizing{memory: defaultMemory, connections: mc.Spec.Config.MaxConnections, threads: threads(mc)}
	if mc.Spec.Config.Memory != nil {
		s.memory = mc.Spec.Config.Memory.Value()
	}
	if s.connections == 0 {
		s.connections = defaultConnections
	}
	return s
}

// threads is one worker for each CPU that the pod may use, since more of them only wait for each other; without a CPU
// limit memcached's own default.
func threads(mc *cachev1alpha1.Memcached) int32 {
	if mc.Spec.Config.Threads != 0 {
		return mc.Spec.Config.Threads
	}
	if cpu, ok := mc.Spec.Resources.Limits[corev1.ResourceCPU]; ok {
		return int32(min(max(cpu.Value(), 1), maxThreads))
	}
	return defaultThreads
}

// args are the arguments of memcached (memcached -h, doc/protocol.txt). UDP stays off, watch and shutdown are never
// offered: they serve attackers better than users.
func args(mc *cachev1alpha1.Memcached) []string {
	config, sizing := mc.Spec.Config, sizingOf(mc)
	args := []string{
		"-p", strconv.Itoa(port),
		"-U", "0",
		"-m", strconv.FormatInt(sizing.memory/mebibyte, 10),
		"-c", strconv.Itoa(int(sizing.connectionLimit())),
		"-t", strconv.Itoa(int(sizing.threads)),
		"-I", itemSize(mc),
		"-W",
	}
	if !ptr.Deref(config.Dump, false) {
		args = append(args, "-X")
	}
	if !ptr.Deref(config.FlushAll, true) {
		args = append(args, "-F")
	}
	if config.Verbosity > 0 {
		args = append(args, "-v")
	}
	// One argument holds all of these, so that an admission policy can limit what it holds.
	options := fmt.Sprintf("read_buf_mem_limit=%d", sizing.buffers()/mebibyte)
	if config.IdleTimeout != nil {
		options += fmt.Sprintf(",idle_timeout=%d", int64(config.IdleTimeout.Seconds()))
	}
	return append(args, "-o", options)
}

// itemSize is memcached's -I, which knows the suffixes k and m only.
func itemSize(mc *cachev1alpha1.Memcached) string {
	size := defaultMaxItemSize
	if mc.Spec.Config.MaxItemSize != nil {
		size = mc.Spec.Config.MaxItemSize.Value()
	}
	if size%mebibyte == 0 {
		return fmt.Sprintf("%dm", size/mebibyte)
	}
	return fmt.Sprintf("%dk", size/kibibyte)
}
