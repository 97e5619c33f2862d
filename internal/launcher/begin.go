// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// begin starts memcached with the argument list that the method choose returns.
func (l *launcher) begin(ctx context.Context) error {
	loaded, err := loadState(l.options.State)
	if err != nil {
		l.log.Printf("what memcached ran with before is not known: %v", err)
	}
	l.state = loaded
	list, known, err := l.choose()
	if err != nil {
		return err
	}
	if err := l.checkVersion(ctx, list); err != nil {
		return err
	}
	return l.start(list, known)
}

// choose returns the argument list to start with. This is the node's list in the ConfigMap or, if that list is missing or unusable,
// the last accepted list. On the node's first start, no list was accepted yet, so choose waits for the ConfigMap. known is false if
// memcached may fail with the list, and there is another list to go back to.
func (l *launcher) choose() (_ protocol.List, known bool, _ error) {
	last, ran := l.state.accepted()
	if !ran {
		first, err := l.first()
		former, found := l.source.former()
		if err != nil || !found || former.Hash() == first.Hash() {
			return first, true, err
		}
		l.state.Accepted = former.String() // other nodes run with this list, so it is safe to go back to
		return first, false, nil
	}
	found, err := l.source.entry(false)
	if err != nil || found.hash == "" || found.problem != nil || l.state.refuses(found.hash) {
		return last, true, nil //nolint:nilerr // the method follow reads the ConfigMap again, and reports what is wrong
	}
	return found.list, last.Hash() == found.hash, nil
}

// beginFailed returns the container's exit code and error for an error of the method begin. errEnded is not a failure: it means that a
// signal told the container to end.
func beginFailed(err error) (int, error) {
	if errors.Is(err, errEnded) {
		return 0, nil
	}
	return 1, err
}

// first returns the argument list for the node's first start. It waits until the kubelet has delivered the list, for options.wait at
// most.
func (l *launcher) first() (protocol.List, error) {
	l.excuse(l.options.wait)
	deadline := time.NewTimer(l.options.wait)
	defer deadline.Stop()
	for attempt := 0; ; attempt++ {
		list, err := l.assigned()
		if !errors.Is(err, errMissing) {
			return list, err
		}
		if attempt == 0 {
			l.log.Printf("waiting for arguments, at most %s: %v", l.options.wait, err)
		}
		select {
		case <-deadline.C:
			return protocol.List{}, err
		case signal := <-l.signals:
			if signal != syscall.SIGHUP {
				return protocol.List{}, errEnded
			}
		case <-time.After(l.options.poll):
		}
	}
}

// errMissing means that the kubelet has not delivered the argument list yet.
var errMissing = errors.New("arguments are missing")

// assigned returns the argument list for the node's first start, or errMissing.
func (l *launcher) assigned() (protocol.List, error) {
	l.source.changed()
	found, err := l.source.entry(true)
	switch {
	case err == nil && found.hash == "":
		section := protocol.SectionKey(l.options.Template)
		return protocol.List{}, fmt.Errorf("%w: %s has no list for node %d", errMissing, section, l.options.Ordinal)
	case err == nil:
		err = found.problem
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", errMissing, err)
	}
	return found.list, err
}
