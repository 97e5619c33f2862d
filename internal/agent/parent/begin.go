// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"

	"github.com/example/memcached-operator/internal/agent/protocol"
)

// begin starts memcached with the entry that the method choose returns.
func (n *node) begin(ctx context.Context) error {
	loaded, err := loadState(n.options.State)
	if err != nil {
		n.log.Printf("what memcached ran with before is not known: %v", err)
	}
	n.state = loaded
	if n.state.Accepted.Check() != nil {
		n.state.Accepted = protocol.Entry{List: n.options.First}
	}
	entry := n.choose()
	if err := n.items.checkVolume(entry.List); err != nil {
		return err
	}
	if err := n.checkVersion(ctx, entry.List); err != nil {
		return err
	}
	return n.start(entry)
}

// choose returns the pod's entry in the ConfigMap or, if there is none that can be used, what was accepted last.
func (n *node) choose() protocol.Entry {
	found, err := n.source.entry()
	if err != nil || found == nil || found.Number == n.state.Accepted.Number || n.state.refuses(found.Number) {
		return n.state.Accepted // the method follow reads the ConfigMap again, and reports what is wrong
	}
	return *found
}
