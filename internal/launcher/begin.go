// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	"context"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// begin starts memcached with the entry that the method choose returns.
func (l *launcher) begin(ctx context.Context) error {
	loaded, err := loadState(l.options.State)
	if err != nil {
		l.log.Printf("what memcached ran with before is not known: %v", err)
	}
	l.state = loaded
	if l.state.Accepted.Check() != nil {
		l.state.Accepted = protocol.Entry{List: l.options.First}
	}
	entry := l.choose()
	if err := l.items.checkVolume(entry.List); err != nil {
		return err
	}
	if err := l.checkVersion(ctx, entry.List); err != nil {
		return err
	}
	return l.start(entry)
}

// choose returns the pod's entry in the ConfigMap or, if there is none that can be used, what was accepted last.
func (l *launcher) choose() protocol.Entry {
	found, err := l.source.entry()
	if err != nil || found == nil || found.Number == l.state.Accepted.Number || l.state.refuses(found.Number) {
		return l.state.Accepted // the method follow reads the ConfigMap again, and reports what is wrong
	}
	return *found
}
