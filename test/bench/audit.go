// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/example/memcached-operator/internal/memcached"
)

// request is a request in the audit log.
type request struct {
	user, verb string
	// resource includes the subresource after a slash. It is empty for requests that are not about objects, such as discovery.
	resource string
	// object is the name of the object. A child has the name of its Memcached, with a suffix if it is a ConfigMap.
	object types.NamespacedName
	code   int
	// bytes is the size of the request's body, or 0 if the audit policy does not log the body.
	bytes int
	// received is when the API server received the request. answered is when the response was ready.
	received, answered time.Time
}

// parseRequest parses a line of the audit log. It returns false for the end of a watch: such a line is not counted, because the watch
// was counted when it started.
func parseRequest(line []byte) (request, bool, error) {
	var event auditv1.Event
	if err := json.Unmarshal(line, &event); err != nil {
		return request{}, false, fmt.Errorf("parsing the line %q of the audit log: %w", line, err)
	}
	r := request{
		user: event.User.Username, verb: event.Verb,
		received: event.RequestReceivedTimestamp.Time, answered: event.StageTimestamp.Time,
	}
	if event.ResponseStatus != nil {
		r.code = int(event.ResponseStatus.Code)
	}
	if event.RequestObject != nil {
		r.bytes = len(event.RequestObject.Raw)
	}
	if ref := event.ObjectRef; ref != nil {
		r.resource = ref.Resource
		if ref.Subresource != "" {
			r.resource += "/" + ref.Subresource
		}
		r.object = types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	}
	watchEnded := r.verb == "watch" && event.Stage == auditv1.StageResponseComplete && r.code == http.StatusOK
	return r, !watchEnded, nil
}

// column is the category in which a request is counted.
type column string

const (
	accepted column = "accepted"
	rejected column = "rejected"
	get      column = "get"
	list     column = "list"
	watch    column = "watch"
	leases   column = "leases"
	events   column = "events"
	// others are discovery, the token and access reviews for each read of the operator's metrics, and requests to pods through the API
	// server. In a real cluster, the operator connects to the pods directly.
	others column = "others"
)

func (r request) columnOf() column {
	switch {
	case r.resource == "leases":
		return leases
	case r.resource == "events":
		return events
	case r.resource == "", r.resource == "tokenreviews", r.resource == "subjectaccessreviews", r.resource == "pods/proxy":
		return others
	case slices.Contains([]string{"get", "list", "watch"}, r.verb):
		return column(r.verb)
	case r.code >= http.StatusBadRequest:
		return rejected
	default:
		return accepted
	}
}

// isWrite reports whether the request tries to change an object. Leases, events and reviews do not count.
func (r request) isWrite() bool { return r.columnOf() == accepted || r.columnOf() == rejected }

func (r request) toStatus() bool { return r.resource == "memcacheds/status" }

type counts map[column]int

func count(requests []request) counts {
	c := counts{}
	for _, r := range requests {
		c[r.columnOf()]++
	}
	return c
}

// writesPerObject returns two numbers for each Memcached: the writes to its children, and the writes to its status. They include
// rejected writes.
func writesPerObject(requests []request) (children, statuses map[types.NamespacedName]int) {
	children, statuses = map[types.NamespacedName]int{}, map[types.NamespacedName]int{}
	for _, r := range requests {
		switch {
		case !r.isWrite():
		case r.toStatus():
			statuses[r.object]++
		case r.resource == "configmaps":
			name := r.object
			name.Name = strings.TrimSuffix(strings.TrimSuffix(name.Name, memcached.ServersSuffix), memcached.ArgumentsSuffix)
			children[name]++
		default:
			children[r.object]++
		}
	}
	return children, statuses
}

// progressWrites returns for each Memcached the number of status writes that reported nothing but progress. A status write counts as such
// if it comes at least progressStatusInterval after the previous one, and if another one follows: the last one reports the result.
func progressWrites(requests []request) map[types.NamespacedName]int {
	progress, last, due := map[types.NamespacedName]int{}, map[types.NamespacedName]time.Time{}, map[types.NamespacedName]bool{}
	for _, r := range requests {
		if !r.isWrite() || !r.toStatus() {
			continue
		}
		if due[r.object] {
			progress[r.object]++
		}
		before, written := last[r.object]
		due[r.object] = written && r.received.Sub(before) >= progressStatusInterval
		last[r.object] = r.answered
	}
	return progress
}

// auditLog reads the audit log as it grows.
type auditLog struct {
	path     string
	offset   int64
	requests []request
}

// mark is a position in the audit log: the number of requests before it.
type mark int

func (l *auditLog) mark() (mark, error) {
	err := l.read()
	return mark(len(l.requests)), err
}

// since returns the requests of these users after the mark. Without users, it returns the requests of all users.
func (l *auditLog) since(m mark, users ...string) ([]request, error) {
	if err := l.read(); err != nil {
		return nil, err
	}
	var found []request
	for _, r := range l.requests[m:] {
		if len(users) == 0 || slices.Contains(users, r.user) {
			found = append(found, r)
		}
	}
	return found, nil
}

// read continues where the last call stopped. It leaves an incomplete last line for the next call.
func (l *auditLog) read() error {
	file, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // closing a file that was only read loses nothing
	if _, err := file.Seek(l.offset, io.SeekStart); err != nil {
		return err
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	complete := content[:bytes.LastIndexByte(content, '\n')+1]
	for line := range bytes.Lines(complete) {
		r, ok, err := parseRequest(line)
		if err != nil {
			return err
		}
		if ok {
			l.requests = append(l.requests, r)
		}
	}
	l.offset += int64(len(complete))
	return nil
}
