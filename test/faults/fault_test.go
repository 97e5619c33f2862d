// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(failure(code, reason, message))
}

func failure(code int, reason metav1.StatusReason, message string) []byte {
	return mustMarshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	})
}

func mustMarshal(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// fault is a failure of one write or one watch. It is injected once.
type fault struct {
	// what is the name of the fault: a constant such as crashBefore or closed.
	what string
	// For a fault of a write, write is the verb and the resource, such as "patch deployments". The fault hits the nth such write in this
	// step of the scenario. For a fault of a watch, write is empty, and watch is the resource. For the fault stale, watch can also be
	// "all".
	write     string
	nth, step int
	watch     string
}

func (f *fault) matches(w write) bool {
	return f.write == w.kind() && f.nth == w.nth && f.step == w.step
}

// String returns a name such as "patch_deployments_0.1/500" (the first such write in step 0) or "pods/410". The environment variable
// FAULT_PLAN consists of the name of a scenario, a slash and this name.
func (f *fault) String() string {
	if f.watch != "" {
		return f.watch + "/" + f.what
	}
	return fmt.Sprintf("%s_%d.%d/%s", strings.NewReplacer(" ", "_", "/", ".").Replace(f.write), f.step, f.nth, f.what)
}

// The faults of writes. The API server executes the write only with crashAfter and lostResponse. A crash ends the operator. With
// lostResponse, the connection is closed without a response. With timeout, there is no response until the operator gives up. The other
// names are the HTTP statuses of error responses.
const (
	crashBefore  = "crash-before"
	crashAfter   = "crash-after"
	lostResponse = "lost-response"
	forbidden403 = "403"
	conflict409  = "409"
	retry429     = "429"
	internal500  = "500"
	timeout      = "timeout"
)

var writeFaults = []string{crashBefore, crashAfter, lostResponse, forbidden403, conflict409, retry429, internal500, timeout}

// commits reports whether the API server executes the write despite the fault.
func (f *fault) commits() bool { return f.what == crashAfter || f.what == lostResponse }

// respond ends a request with an error response or by closing the connection. Some faults first crash the operator, or wait until the
// operator gives up.
func (f *fault) respond(l *listener, w http.ResponseWriter, r *http.Request) {
	switch f.what {
	case crashBefore, crashAfter:
		l.closed.Store(true) // at once, so that the operator cannot send another request
		go l.crash()
		panic(http.ErrAbortHandler)
	case lostResponse:
		panic(http.ErrAbortHandler)
	case forbidden403:
		refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "the operator lacks the permission")
	case conflict409:
		refuse(w, http.StatusConflict, metav1.StatusReasonConflict, "the object has been modified")
	case retry429:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "try again later")
	case internal500:
		refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcdserver: leader changed")
	case timeout:
		io.Copy(io.Discard, r.Body) // the server notices a closed connection only after it has read the body
		select {                    // until the operator gives up
		case <-r.Context().Done():
		case <-l.down:
		}
		panic(http.ErrAbortHandler)
	}
}
