// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	// Timeout limits the time of a request and its answer, because a change of nodes waits for the answer.
	Timeout = time.Second
	// maxAnswer limits how many bytes of an answer's body are read. A client from NewClient also limits the header to this size. The limits
	// are necessary because the owner of the pod controls the answer.
	maxAnswer = 4 << 10
)

// Client connects to the addresses of pods. It does not follow redirects.
type Client struct{ http *http.Client }

// NewClient returns a client that limits each request to Timeout. It ignores HTTP proxies in the environment, because they cannot reach
// pods.
func NewClient() *Client {
	return NewClientThrough(&http.Transport{Proxy: nil, DisableKeepAlives: true, MaxResponseHeaderBytes: maxAnswer})
}

// NewClientThrough returns a client with this transport that limits each request to Timeout.
func NewClientThrough(transport http.RoundTripper) *Client {
	return &Client{http: &http.Client{
		Transport:     transport,
		Timeout:       Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Ask returns the status of a parent or of a sidecar. base is the URL of its server, such as http://10.0.0.1:9151. Errors contain it. hosts
// are the names by which clients reach the node: a sidecar checks whether the certificate is for them.
func (c *Client) Ask(ctx context.Context, base string, hosts ...string) (status Status, _ error) {
	target := base + StatusPath
	if len(hosts) > 0 {
		target += "?" + url.Values{HostParameter: hosts}.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return status, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return status, withoutSource(err) // the error names the URL
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return status, fmt.Errorf("%s: %w: %s", target, errAnswer, response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&status); err != nil {
		return status, fmt.Errorf("%s: %w: %w", target, errAnswer, withoutSource(err))
	}
	return status, nil
}

// withoutSource removes the local address from a network error. The local port differs in each attempt. So a condition that quotes
// the error would change each time.
func withoutSource(err error) error {
	if failed, found := errors.AsType[*net.OpError](err); found {
		failed.Source = nil
	}
	return err
}

var errAnswer = errors.New("not the answer of a node")
