// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"

	"github.com/example/memcached-operator/test/testenv"
)

// fault is a failure of one write or one watch. It is injected once.
type fault struct {
	// what is the name of the fault: a constant such as crashBefore or expired.
	what string
	// For a fault of a write, write is the verb and the resource, such as "patch deployments". The fault hits the nth such write in this
	// step of the scenario. For a fault of a watch, write is empty, and watch is the resource. For the fault stale, watch can also be
	// "all".
	write     string
	nth, step int
	watch     string
}

// String returns a name such as "patch_deployments_0.1/500" (the first such write in step 0) or "pods/410". The environment variable
// FAULT_PLAN consists of the name of a scenario, a slash and this name.
func (f *fault) String() string {
	if f.watch != "" {
		return f.watch + "/" + f.what
	}
	return fmt.Sprintf("%s_%d.%d/%s", strings.NewReplacer(" ", "_", "/", ".").Replace(f.write), f.step, f.nth, f.what)
}

func (f *fault) matches(w write) bool {
	return f.write == w.kind() && f.nth == w.nth && f.step == w.step
}

// The faults of writes: one for each combination of two questions: Is the write executed? Does the operator restart? The API server executes
// the write only with crashAfter and lostResponse.
const (
	crashBefore  = "crash-before"
	crashAfter   = "crash-after"
	lostResponse = "lost-response"
	internal500  = "500"
)

// The faults of watches, after which the operator must list again. With expired, the stream ends with the error 410 Gone instead of the first
// event. With dropped, this comes a second late. With stale, the operator restarts and first gets an earlier state, as if
// the API server lagged behind.
const (
	expired = "410"
	dropped = "dropped"
	stale   = "stale"
)

// freezeDuration exceeds the half second for which the operator collects events.
const freezeDuration = time.Second

// write is a request by which the operator tries to change an object other than a lease or an event.
type write struct {
	testenv.Request
	// nth counts the writes of the same kind in the same step of the scenario, from 1.
	nth, step int
}

// kind returns the verb and the resource, such as "patch memcacheds/status".
func (w write) kind() string {
	request := w.Request
	request.Code = 0
	return request.String()
}

// wire is between one operator and the API server. It injects at most one fault. It outlives the operator's processes.
type wire struct {
	mutex sync.Mutex
	// fault is the fault that is still to be injected, or nil. armed reports that arm was called: the wire counts only the writes and events
	// after that.
	fault *fault
	armed bool
	// injected is closed when the fault has been injected.
	injected chan struct{}
	writes   []write
	step     int
	// delivered counts the watch events of each resource since arm was called.
	delivered map[string]int
	// crash ends the current process of the operator, and starts another one.
	crash func()
	// snapshots are, by resource, the responses to list requests from before the user actions. A lagging API server would still send them.
	snapshots map[string][]byte
	// stale are the resources whose list requests are still answered with the snapshots. listed are the resources whose snapshots were sent
	// at least once.
	stale, listed sets.Set[string]
}

func newWire() *wire {
	return &wire{injected: make(chan struct{}), delivered: map[string]int{}, listed: sets.Set[string]{}, crash: func() {}}
}

// arm sets the fault, which may be nil, and starts the counts. It is called after the setup of the scenario.
func (w *wire) arm(f *fault, snapshots map[string][]byte) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.fault, w.armed, w.writes, w.snapshots = f, true, nil, snapshots
	clear(w.delivered)
}

// nextStep begins the next step of the scenario, in which nth starts at 1 again. So retries in one step do not change the numbers of
// the writes in the next step.
func (w *wire) nextStep() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.step++
}

func (w *wire) written() []write {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.Clone(w.writes)
}

// reachedWithoutFault reports whether a write or an event matched the fault, but the fault was not injected.
func (w *wire) reachedWithoutFault(f *fault) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.fault != nil && (f.watch != "" && w.delivered[f.watch] > 0 || f.watch == "" && slices.ContainsFunc(w.writes, f.matches))
}

func (w *wire) counts() map[string]int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return maps.Clone(w.delivered)
}

// serveStaleFor answers list requests for these resources with the snapshots, until the next process of the operator has received them.
func (w *wire) serveStaleFor(resources ...string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.stale = sets.New(resources...)
}

// staleServed reports whether the operator has received all snapshots.
func (w *wire) staleServed() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return len(w.stale) == 0
}

// connection carries the requests of one process of the operator, until cut is called.
type connection struct {
	*wire

	up  context.Context //nolint:containedctx // it ends with the connection
	cut context.CancelFunc
}

// errCut is what a client gets whose connection is cut.
var errCut = errors.New("the connection is cut")

// connect returns a connection, and the configuration of clients that use it.
func (w *wire) connect() (*connection, *rest.Config) {
	c, through := &connection{wire: w}, rest.CopyConfig(config)
	c.up, c.cut = context.WithCancel(context.Background())
	through.ContentType = "application/json" // the faults of watches parse only JSON
	through.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) { return c.roundTrip(r, next) })
	})
	return c, through
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var resolver = &request.RequestInfoFactory{
	APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
}

func (c *connection) roundTrip(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	info, err := resolver.NewRequestInfo(r)
	if err != nil || c.up.Err() != nil {
		return nil, errors.Join(err, errCut)
	}
	ctx, cancel := context.WithCancel(r.Context())
	context.AfterFunc(c.up, cancel)
	r = r.WithContext(ctx)
	recorded := testenv.Request{
		Verb: info.Verb, Resource: info.Resource, Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name,
	}
	if recorded.Write() && info.Resource != "events" && info.Resource != "leases" {
		return c.write(r, recorded, next)
	}
	if response := c.serveStale(r, info); response != nil {
		return response, nil
	}
	response, err := next.RoundTrip(r)
	if err == nil && info.Verb == "watch" && response.StatusCode == http.StatusOK {
		c.filter(response, info.Resource, cancel)
	}
	return response, err
}

// write sends a write of the operator. If the write matches the fault, the operator gets the fault's response, and the API server gets the
// write only with some faults.
func (c *connection) write(r *http.Request, request testenv.Request, next http.RoundTripper) (*http.Response, error) {
	index, f := c.record(request)
	if f != nil {
		defer close(c.injected)
	}
	if f == nil || f.what == crashAfter || f.what == lostResponse {
		response, err := next.RoundTrip(r)
		if err == nil {
			c.setCode(index, response.StatusCode)
		}
		if f == nil || err != nil {
			return response, err
		}
		_ = response.Body.Close() // the operator gets another response
	}
	switch f.what {
	case crashBefore, crashAfter:
		c.cut() // at once, so that the operator cannot send another request
		go c.crash()
		return nil, errCut
	case lostResponse:
		return nil, io.ErrUnexpectedEOF
	default:
		return responseWith(r, metav1.Status{
			Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: "etcdserver: leader changed",
		}), nil
	}
}

// record appends a write to c.writes if the wire is armed. index is the position of the write, or -1 if it is not. injected is the fault
// to inject, or nil.
func (c *connection) record(request testenv.Request) (index int, injected *fault) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	recorded := write{Request: request, nth: 1, step: c.step}
	for _, w := range c.writes {
		if w.kind() == recorded.kind() && w.step == c.step {
			recorded.nth++
		}
	}
	if c.armed {
		c.writes = append(c.writes, recorded)
	}
	if f := c.fault; f != nil && f.matches(recorded) {
		c.fault, injected = nil, f
	}
	return len(c.writes) - 1, injected
}

func (c *connection) setCode(index, code int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if index >= 0 && index < len(c.writes) {
		c.writes[index].Code = code
	}
}

// responseWith returns a response of the API server with this error.
func responseWith(r *http.Request, status metav1.Status) *http.Response {
	response := responseOf(r, mustMarshal(failure(status)))
	response.StatusCode = int(status.Code)
	return response
}

func responseOf(r *http.Request, body []byte) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
}

func failure(status metav1.Status) metav1.Status {
	status.TypeMeta, status.Status = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, metav1.StatusFailure
	return status
}

func mustMarshal(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// filter replaces the response body of a watch by a stream with faults.
func (c *connection) filter(response *http.Response, resource string, cancel func()) {
	reader, writer := io.Pipe()
	body := response.Body
	response.Body = watchBody{PipeReader: reader, cancel: cancel}
	synced := response.Request.URL.Query().Get("sendInitialEvents") != "true"
	go func() {
		err := c.copy(writer, json.NewDecoder(body), resource, synced)
		_ = body.Close() // it was only read
		writer.CloseWithError(err)
	}()
}

// watchBody ends the request when it is closed.
type watchBody struct {
	*io.PipeReader

	cancel func()
}

func (b watchBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

// copy forwards the events of a watch and injects the fault, until the stream ends. The argument synced reports that the existing objects
// have been delivered: all further events are changes.
func (c *connection) copy(to io.Writer, from *json.Decoder, resource string, synced bool) error {
	for {
		var event json.RawMessage
		if from.Decode(&event) != nil {
			return io.EOF
		}
		var what string
		if what, synced = c.nextFault(event, resource, synced); what == dropped {
			<-time.After(freezeDuration)
		}
		if what != "" {
			gone := failure(metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "too old resource version"})
			event = mustMarshal(map[string]any{"type": "ERROR", "object": gone})
		}
		if _, err := to.Write(append(event, '\n')); err != nil || what != "" {
			return io.EOF
		}
	}
}

// nextFault counts the event if it is a change. It returns the name of the fault to inject, or an empty string.
func (c *connection) nextFault(text []byte, resource string, synced bool) (what string, nowSynced bool) {
	var event struct {
		Type   string                       `json:"type"`
		Object metav1.PartialObjectMetadata `json:"object"`
	}
	if err := json.Unmarshal(text, &event); err != nil || event.Type == "BOOKMARK" {
		return "", synced || event.Object.Annotations[metav1.InitialEventsAnnotationKey] == "true"
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !synced || !c.armed {
		return "", synced
	}
	c.delivered[resource]++
	f := c.fault
	if f == nil || f.watch != resource {
		return "", synced
	}
	c.fault = nil
	close(c.injected)
	return f.what, synced
}

// serveStale responds like a lagging API server, or returns nil. It refuses watches that would first deliver the existing objects
// (sendInitialEvents), so the operator sends list requests instead. It answers list requests for resource version 0 with the snapshot, and
// delays the watches that follow.
func (c *connection) serveStale(r *http.Request, info *request.RequestInfo) *http.Response {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	query := r.URL.Query()
	switch {
	case !c.stale.Has(info.Resource) || info.Subresource != "":
	case info.Verb == "watch" && query.Get("sendInitialEvents") == "true":
		return responseWith(r, metav1.Status{
			Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "sendInitialEvents is forbidden for watch",
		})
	case info.Verb == "list" && query.Get("resourceVersion") == "0":
		c.listed.Insert(info.Resource)
		return responseOf(r, c.snapshots[info.Resource])
	case info.Verb == "watch":
		c.mutex.Unlock()
		<-time.After(freezeDuration)
		c.mutex.Lock()
		if c.listed.Has(info.Resource) {
			c.stale.Delete(info.Resource)
		}
	}
	return nil
}
