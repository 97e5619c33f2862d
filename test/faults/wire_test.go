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

// The faults of writes: one for each combination of two questions: Is the write executed? Does the operator restart? The API server executes
// the write only with crashAfter and lostResponse. With stale, the operator restarts and first gets an earlier state, as if the API server
// lagged behind.
const (
	crashBefore  = "crash-before"
	crashAfter   = "crash-after"
	lostResponse = "lost-response"
	internal500  = "500"
	stale        = "stale"
)

// fault is a failure, which is injected once.
type fault struct {
	// what is the name of the fault, such as crashBefore.
	what string
	// on is the verb and the resource of the write, such as "patch deployments": the fault hits the nth such write in this step of the
	// scenario. For the fault stale, it is a resource, or everything.
	on        string
	nth, step int
}

// String returns a name such as "patch_deployments_0.1/500" (the first such write in step 0) or "pods/stale". The environment variable
// FAULT_PLAN consists of the name of a scenario, a slash and this name.
func (f *fault) String() string {
	if f.what == stale {
		return f.on + "/" + stale
	}
	return fmt.Sprintf("%s_%d.%d/%s", strings.NewReplacer(" ", "_", "/", ".").Replace(f.on), f.step, f.nth, f.what)
}

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
	// fault is the fault that is still to be injected, or nil. armed reports that arm was called: the wire counts only the writes after that.
	fault *fault
	armed bool
	// injected is closed when the fault has been injected.
	injected chan struct{}
	writes   []write
	step     int
	// crash ends the current process of the operator, and starts another one.
	crash func()
	// snapshots are, by resource, the responses to list requests from before the user actions. A lagging API server would still send them.
	snapshots map[string][]byte
	// stale are the resources whose list requests are still answered with the snapshots. listed are those whose snapshots were sent.
	stale, listed sets.Set[string]
}

// arm sets the fault, which may be nil, and starts the counts. It is called after the setup of the scenario.
func (w *wire) arm(f *fault, snapshots map[string][]byte) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.fault, w.armed, w.writes, w.snapshots = f, true, nil, snapshots
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

// serveStaleFor answers list requests for these resources with the snapshots, until the next process of the operator has received them.
func (w *wire) serveStaleFor(resources ...string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.stale, w.listed = sets.New(resources...), sets.Set[string]{}
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
	through.ContentType = "application/json" // that of the snapshots
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
	return next.RoundTrip(r)
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
		return refusal(r, http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcdserver: leader changed"), nil
	}
}

// record appends a write to c.writes if the wire is armed. index is the position of the write, or -1 if it is not. injected is the fault
// to inject, or nil.
func (c *connection) record(request testenv.Request) (index int, injected *fault) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.armed {
		return -1, nil
	}
	recorded := write{Request: request, nth: 1, step: c.step}
	for _, w := range c.writes {
		if w.kind() == recorded.kind() && w.step == c.step {
			recorded.nth++
		}
	}
	c.writes = append(c.writes, recorded)
	if f := c.fault; f != nil && f.on == recorded.kind() && f.nth == recorded.nth && f.step == recorded.step {
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

func refusal(r *http.Request, code int32, reason metav1.StatusReason, message string) *http.Response {
	response := responseOf(r, mustMarshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}))
	response.StatusCode = int(code)
	return response
}

func responseOf(r *http.Request, body []byte) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
}

func mustMarshal(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// lag is how long the watches of a lagging API server are late: longer than the half second for which the operator collects events.
const lag = time.Second

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
		return refusal(r, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "sendInitialEvents is forbidden for watch")
	case info.Verb == "list" && query.Get("resourceVersion") == "0":
		c.listed.Insert(info.Resource)
		return responseOf(r, c.snapshots[info.Resource])
	case info.Verb == "watch":
		c.mutex.Unlock()
		<-time.After(lag)
		c.mutex.Lock()
		if c.listed.Has(info.Resource) {
			c.stale.Delete(info.Resource)
		}
	}
	return nil
}
