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

// What can happen to a watch.
const (
	// closed ends the stream in the place of the first event.
	closed = "closed"
	// expired answers 410 Gone in the place of the first event.
	expired = "410"
	// frozen delivers nothing for a second, then everything.
	frozen = "frozen"
	// dropped loses the events of a second and ends with 410 Gone: what has happened meanwhile was never seen.
	dropped = "dropped"
	// stale is what another API server does that lags behind: an operator that starts again is told what was before.
	stale = "stale"
)

var watchFaults = []string{closed, expired, frozen, dropped}

// thaw is how long a stream is frozen: longer than the operator waits before it looks at what the others delivered.
const thaw = time.Second

// watchEvent is as much of an event as is decided on.
type watchEvent struct {
	Type   string `json:"type"`
	Object struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	} `json:"object"`
}

// filter puts a stream in the place of the body of a watch. The operator is configured to be answered in JSON.
func (l *listener) filter(response *http.Response) error {
	info, err := resolver.NewRequestInfo(response.Request)
	if err != nil || info.Verb != "watch" || response.StatusCode != http.StatusOK {
		return nil //nolint:nilerr // not a watch
	}
	reader, writer := io.Pipe()
	body := response.Body
	response.Body = struct {
		io.Reader
		io.Closer
	}{reader, closers{reader, body}}
	s := &stream{listener: l, resource: info.Resource, synced: response.Request.URL.Query().Get("sendInitialEvents") != "true"}
	go func() {
		err := s.copy(response.Request.Context(), writer, json.NewDecoder(body))
		body.Close()
		writer.CloseWithError(err)
	}()
	return nil
}

type closers []io.Closer

// Close implements io.Closer.
func (c closers) Close() error {
	for _, closer := range c {
		closer.Close()
	}
	return nil
}

// stream is a watch.
type stream struct {
	*listener
	resource string
	// synced says that the events are news: a watch may begin with what exists.
	synced bool
	// thawed is when a frozen stream goes on.
	thawed  <-chan time.Time
	dropped bool
}

// copy copies the events until the stream ends.
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
		case <-s.thawed:
			s.thawed = nil
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
			if s.thawed == nil {
				if done, err := s.pass(to, event); done || err != nil {
					return err
				}
			}
			if s.thawed != nil {
				held = append(held, event)
			}
		}
	}
}

// pass writes an event, or does what the fault says. Done says that the stream has ended.
func (s *stream) pass(to io.Writer, event []byte) (done bool, err error) {
	switch s.strike(event) {
	case closed:
		return true, io.EOF
	case expired:
		return true, writeGone(to)
	case frozen:
		s.thawed = time.After(thaw)
		return false, nil
	case dropped:
		s.thawed, s.dropped = time.After(thaw), true
		return false, nil
	default:
		_, err := to.Write(event)
		return false, err
	}
}

// strike counts an event, and says what is to happen to it: nothing if it is empty.
func (s *stream) strike(text []byte) string {
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
		close(s.bitten)
		return f.what
	}
	return ""
}

func writeGone(to io.Writer) error {
	gone, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired,
		Message: "too old resource version",
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(to, `{"type":"ERROR","object":%s}`+"\n", gone); err != nil {
		return err
	}
	return io.EOF
}

// remember keeps what an API server that lags would still serve of the resources.
func (p *proxy) remember(snapshots map[string][]byte) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.snapshots = snapshots
}

// lag serves the resources from the snapshots to the next process of the operator, until it has received them.
func (p *proxy) lag(resources ...string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.late = sets.New(resources...)
}

// caughtUp says whether the resources were served.
func (p *proxy) caughtUp() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return len(p.late) == 0
}

// servesLate answers a list or a watch as an API server does that lags: before Kubernetes 1.34 a watch does not begin with
// a consistent list, and a list of the resource version 0 is what that API server happens to know.
func (l *listener) servesLate(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) bool {
	l.mutex.Lock()
	late, snapshot := l.late.Has(info.Resource), l.snapshots[info.Resource]
	l.mutex.Unlock()
	query := r.URL.Query()
	switch {
	case !late || info.Subresource != "":
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
		case <-time.After(thaw):
		case <-r.Context().Done():
		case <-l.down:
		}
		l.mutex.Lock()
		if l.listed.Has(info.Resource) {
			l.late.Delete(info.Resource)
		}
		l.mutex.Unlock()
		return false
	default:
		return false
	}
}
