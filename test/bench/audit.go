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
	"time"

	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// request is what the audit log says of a request.
type request struct {
	user, verb string
	// resource has the subresource after a slash. It is empty for URLs such as those of the discovery.
	resource string
	// object is the name of the object, which its children bear too.
	object types.NamespacedName
	// code is the HTTP status of the answer.
	code int
	// bytes is the size of the body, if the audit policy has it logged.
	bytes int
	// received and answered are when the API server got the request and had its answer ready.
	received, answered time.Time
}

// parseRequest reads a line of the audit log. There is none (false) in the line for the end of a watch: watches count when
// they begin.
func parseRequest(line []byte) (request, bool, error) {
	var event auditv1.Event
	if err := json.Unmarshal(line, &event); err != nil {
		return request{}, false, fmt.Errorf("reading the line %q of the audit log: %w", line, err)
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

// column is where a request counts.
type column string

const (
	accepted column = "accepted"
	rejected column = "rejected"
	get      column = "get"
	list     column = "list"
	watch    column = "watch"
	leases   column = "leases"
	events   column = "events"
	// others are the discovery and the reviews of those who ask for metrics.
	others column = "others"
)

// columnOf tells writes to objects from everything else.
func (r request) columnOf() column {
	switch {
	case r.resource == "leases":
		return leases
	case r.resource == "events":
		return events
	case r.resource == "", r.resource == "tokenreviews", r.resource == "subjectaccessreviews":
		return others
	case slices.Contains([]string{"get", "list", "watch"}, r.verb):
		return column(r.verb)
	case r.code >= http.StatusBadRequest:
		return rejected
	default:
		return accepted
	}
}

// isWrite says whether the request was to change an object of a Memcached, or its status.
func (r request) isWrite() bool { return r.columnOf() == accepted || r.columnOf() == rejected }

// toStatus says whether the request was for the status of a Memcached.
func (r request) toStatus() bool { return r.resource == "memcacheds/status" }

// counts are the numbers of requests.
type counts map[column]int

func count(requests []request) counts {
	c := counts{}
	for _, r := range requests {
		c[r.columnOf()]++
	}
	return c
}

// writesPerObject returns the number of writes for each Memcached that had any: to its children and to its status.
func writesPerObject(requests []request) (children, statuses map[types.NamespacedName]int) {
	children, statuses = map[types.NamespacedName]int{}, map[types.NamespacedName]int{}
	for _, r := range requests {
		switch {
		case !r.isWrite():
		case r.toStatus():
			statuses[r.object]++
		default:
			children[r.object]++
		}
	}
	return children, statuses
}

// progressWrites returns how many writes of each Memcached's status told only how far it had come: those that the operator had
// put off until progressStatusInterval after the write before, and that another write followed.
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

// auditLog reads the audit log while it grows.
type auditLog struct {
	path     string
	offset   int64
	requests []request
}

// mark is a place in the audit log: everything that has been answered so far is before it.
type mark int

func (l *auditLog) mark() (mark, error) {
	err := l.read()
	return mark(len(l.requests)), err
}

// since returns the requests of some users that were answered after the mark.
func (l *auditLog) since(m mark, users ...string) ([]request, error) {
	if err := l.read(); err != nil {
		return nil, err
	}
	var found []request
	for _, r := range l.requests[m:] {
		if slices.Contains(users, r.user) {
			found = append(found, r)
		}
	}
	return found, nil
}

// read goes on where it stopped. A line that is still being written is left for the next time.
func (l *auditLog) read() error {
	file, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it is only read
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
