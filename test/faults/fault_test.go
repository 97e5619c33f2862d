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

// refuse answers in the place of the API server.
func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	text, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	})
	if err != nil {
		panic(err)
	}
	w.Write(text)
}

// fault is one thing that goes wrong, once.
type fault struct {
	// what is its name.
	what string
	// write, nth and turn say which write it is for; or watch, which resource's watch.
	write     string
	nth, turn int
	watch     string
}

// concerns says whether the fault is for a write.
func (f *fault) concerns(w write) bool {
	return f.write == w.kind() && f.nth == w.nth && f.turn == w.turn
}

// String is the part of a plan's name after the scenario.
func (f *fault) String() string {
	if f.watch != "" {
		return f.watch + "/" + f.what
	}
	return fmt.Sprintf("%s_%d.%d/%s", strings.NewReplacer(" ", "_", "/", ".").Replace(f.write), f.turn, f.nth, f.what)
}

// What can happen to a write.
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

// commits says whether the API server receives the write all the same.
func (f *fault) commits() bool { return f.what == crashAfter || f.what == lostResponse }

// answer is what the operator sees of the write.
func (f *fault) answer(l *listener, w http.ResponseWriter, r *http.Request) {
	switch f.what {
	case crashBefore, crashAfter:
		l.closed.Store(true) // from this moment on
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
		io.Copy(io.Discard, r.Body) // the server looks for the end of the connection after the end of the body
		select {                    // until the operator gives up
		case <-r.Context().Done():
		case <-l.down:
		}
		panic(http.ErrAbortHandler)
	}
}
