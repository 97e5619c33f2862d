// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// The faults of watches.
const (
	// closed ends the stream instead of delivering the first event.
	closed = "closed"
	// expired ends the stream with the error 410 Gone instead of delivering the first event.
	expired = "410"
	// frozen delivers nothing for a second, and then all events.
	frozen = "frozen"
	// dropped discards the events of one second, and then ends the stream with 410 Gone. The operator never receives these events.
	dropped = "dropped"
	// stale restarts the operator and first gives it an earlier state, as if the API server lagged behind.
	stale = "stale"
)

var watchFaults = []string{closed, expired, frozen, dropped}

// freezeDuration is how long a frozen stream delivers nothing. It exceeds the half second for which the operator collects events.
const freezeDuration = time.Second

// watchEvent has the fields of an event that the proxy reads.
type watchEvent struct {
	Type   string `json:"type"`
	Object struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	} `json:"object"`
}

// filter replaces the response body of a watch by a stream. The events must be JSON.
func (l *listener) filter(response *http.Response) error {
	info, err := resolver.NewRequestInfo(response.Request)
	if err != nil || info.Verb != "watch" || response.StatusCode != http.StatusOK {
		return nil //nolint:nilerr // not a watch
	}
	reader, writer := io.Pipe()
	body := response.Body
	response.Body = reader // the goroutine below closes the original body
	s := &stream{listener: l, resource: info.Resource, synced: response.Request.URL.Query().Get("sendInitialEvents") != "true"}
	go func() {
		err := s.copy(response.Request.Context(), writer, json.NewDecoder(body))
		body.Close()
		writer.CloseWithError(err)
	}()
	return nil
}

// stream forwards the events of one watch.
type stream struct {
	*listener
	resource string
	// synced means that the existing objects have been delivered: all further events are changes.
	synced bool
	// resume fires when a freeze ends. The stream then delivers the held events or, if dropped is true, ends. Without a freeze, it is nil.
	resume  <-chan time.Time
	dropped bool
}

// copy forwards events and injects the fault, until the stream ends.
func (s *stream) copy(ctx context.Context, to io.Writer, from *json.Decoder) error {
	events := make(chan json.RawMessage)
	go func() {
		defer close(events)
		for {
			var event json.RawMessage
			if from.Decode(&event) != nil {
				return
			}
			select {
			case events <- append(event, '\n'):
			case <-ctx.Done():
				return
			case <-s.down:
				return
			}
		}
	}()
	var held []json.RawMessage
	for {
		select {
		case <-ctx.Done():
			return io.EOF
		case <-s.down:
			return io.ErrUnexpectedEOF
		case <-s.resume:
			s.resume = nil
			if s.dropped {
				return writeGone(to)
			}
			for _, event := range held {
				if _, err := to.Write(event); err != nil {
					return err
				}
			}
		case event, more := <-events:
			if !more {
				return io.EOF
			}
			if s.resume == nil {
				if done, err := s.pass(to, event); done || err != nil {
					return err
				}
			}
			if s.resume != nil {
				held = append(held, event)
			}
		}
	}
}

// pass writes an event, or begins the fault. It returns true when the stream has ended.
func (s *stream) pass(to io.Writer, event []byte) (done bool, err error) {
	switch s.nextFault(event) {
	case closed:
		return true, io.EOF
	case expired:
		return true, writeGone(to)
	case frozen:
		s.resume = time.After(freezeDuration)
		return false, nil
	case dropped:
		s.resume, s.dropped = time.After(freezeDuration), true
		return false, nil
	default:
		_, err := to.Write(event)
		return false, err
	}
}

// nextFault counts the event if it is a change. It returns the name of the fault to inject, or an empty string.
func (s *stream) nextFault(text []byte) string {
	var event watchEvent
	if err := json.Unmarshal(text, &event); err != nil || event.Type == "BOOKMARK" {
		s.synced = s.synced || event.Object.Metadata.Annotations[metav1.InitialEventsAnnotationKey] == "true"
		return ""
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.synced || !s.armed {
		return ""
	}
	s.delivered[s.resource]++
	if f := s.fault; f != nil && f.watch == s.resource {
		s.fault = nil
		close(s.injected)
		return f.what
	}
	return ""
}

func writeGone(to io.Writer) error {
	gone := failure(http.StatusGone, metav1.StatusReasonExpired, "too old resource version")
	if _, err := fmt.Fprintf(to, `{"type":"ERROR","object":%s}`+"\n", gone); err != nil {
		return err
	}
	return io.EOF
}

func (p *proxy) setSnapshots(snapshots map[string][]byte) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.snapshots = snapshots
}

// serveStaleFor makes the proxy answer list requests for these resources with the snapshots, until the next process of the operator
// has received them.
func (p *proxy) serveStaleFor(resources ...string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.stale = sets.New(resources...)
}

// staleServed reports whether the operator has received all snapshots.
func (p *proxy) staleServed() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return len(p.stale) == 0
}

// serveStale responds like a lagging API server, and reports whether it has responded. It refuses watches that would first deliver the
// existing objects (sendInitialEvents), so the operator sends list requests instead. It answers list requests for resource version 0
// with the snapshot, and delays the watches that follow.
func (l *listener) serveStale(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) bool {
	l.mutex.Lock()
	stale, snapshot := l.stale.Has(info.Resource), l.snapshots[info.Resource]
	l.mutex.Unlock()
	query := r.URL.Query()
	switch {
	case !stale || info.Subresource != "":
		return false
	case info.Verb == "watch" && query.Get("sendInitialEvents") == "true":
		refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "sendInitialEvents is forbidden for watch")
		return true
	case info.Verb == "list" && query.Get("resourceVersion") == "0":
		w.Header().Set("Content-Type", "application/json")
		io.Copy(w, bytes.NewReader(snapshot))
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.listed.Insert(info.Resource)
		return true
	case info.Verb == "watch":
		select {
		case <-time.After(freezeDuration):
		case <-r.Context().Done():
		case <-l.down:
		}
		l.mutex.Lock()
		if l.listed.Has(info.Resource) {
			l.stale.Delete(info.Resource)
		}
		l.mutex.Unlock()
		return false
	default:
		return false
	}
}
