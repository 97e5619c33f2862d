// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// ServerClock estimates the API server's clock from the Date headers of its answers. The API server sets the times in objects, and
// the local clock may differ. The estimate is never ahead of the API server's clock, so nothing happens too early. It is behind by
// about a second at most. Between answers, the estimate advances with the local monotonic clock.
type ServerClock struct {
	local clock.PassiveClock

	mutex     sync.Mutex
	date, got time.Time
}

// NewServerClock returns a ServerClock, and a configuration whose clients pass it the Date headers of all answers.
func NewServerClock(config *rest.Config, local clock.PassiveClock) (*ServerClock, *rest.Config) {
	c := &ServerClock{local: local}
	wrapped := rest.CopyConfig(config)
	wrapped.Wrap(func(next http.RoundTripper) http.RoundTripper { return dated{clock: c, next: next} })
	return c, wrapped
}

// Now implements clock.PassiveClock. Before the first answer, it returns the local time.
func (c *ServerClock) Now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.date.IsZero() {
		return c.local.Now()
	}
	return c.date.Add(c.local.Since(c.got))
}

// Since implements clock.PassiveClock.
func (c *ServerClock) Since(earlier time.Time) time.Duration { return c.Now().Sub(earlier) }

func (c *ServerClock) set(date time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.date, c.got = date, c.local.Now()
}

// dated reads the Date header of each answer.
type dated struct {
	clock *ServerClock
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (d dated) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := d.next.RoundTrip(request)
	if err == nil {
		if date, invalid := http.ParseTime(response.Header.Get("Date")); invalid == nil {
			d.clock.set(date)
		}
	}
	return response, err
}
