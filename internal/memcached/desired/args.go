// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

const idleTimeoutOption = ",idle_timeout="

// defaultIdleTimeout applies with TLS or users. It limits how long clients can hold connections without authenticating. It also
// ends idle connections of authenticated clients, which then reconnect.
const defaultIdleTimeout = 10 * time.Minute

// args returns memcached's command-line arguments (memcached -h, doc/protocol.txt). UDP and the commands "watch" and "shutdown" are
// never enabled, because they help attackers more than users.
func args(mc *cachev1alpha1.Memcached) []string {
	config, sizing := mc.Spec.Config, sizingOf(mc)
	args := []string{
		"-p", strconv.Itoa(memcached.Port),
		"-U", "0",
		"-m", strconv.FormatInt(sizing.memory/mebibyte, 10),
		"-c", strconv.Itoa(int(sizing.connectionLimit())),
		"-t", strconv.Itoa(int(sizing.threads)),
		"-I", itemSize(mc),
		"-W",
	}
	if !ptr.Deref(config.Dump, false) && memcached.Copies(mc) == 1 { // nodes of copies tell each other their keys
		args = append(args, "-X")
	}
	if !ptr.Deref(config.FlushAll, true) {
		args = append(args, "-F")
	}
	if keepsItems(mc) {
		args = append(args, "-e", itemsPath+"/items")
	}
	args = append(args, credentialArgs(mc)...)
	// All -o options are one argument, so that a parent can check them together.
	options := fmt.Sprintf("read_buf_mem_limit=%d", sizing.buffers()/mebibyte)
	if timeout := idleTimeoutOf(mc); timeout > 0 {
		options += idleTimeoutOption + strconv.FormatInt(int64(timeout.Seconds()), 10)
	}
	return append(args, "-o", options+tlsOptions(mc))
}

// idleTimeoutOf returns the idle timeout of connections, or 0 if there is none.
func idleTimeoutOf(mc *cachev1alpha1.Memcached) time.Duration {
	switch given := mc.Spec.Config.IdleTimeout; {
	case given != nil:
		return given.Duration
	case mc.Spec.TLS != nil, mc.Spec.Auth != nil:
		return defaultIdleTimeout
	default:
		return 0
	}
}

// itemSize returns the value of memcached's option -I, which allows only the suffixes k and m.
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
