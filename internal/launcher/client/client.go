// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package client asks launchers for their status.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

const (
	// Timeout limits a whole exchange: a wave waits for the answer.
	Timeout = time.Second
	// maxAnswer limits what is read: whoever owns the pod decides what comes.
	maxAnswer = 4 << 10
)

// Client asks launchers at the addresses of their pods. It follows no redirect and uses no proxy of the environment, which knows
// nothing of the addresses of pods.
type Client struct{ http *http.Client }

// New returns a client.
func New() *Client {
	return &Client{http: &http.Client{
		Timeout:       Timeout,
		Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true, MaxResponseHeaderBytes: maxAnswer},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Status asks the launcher of a node at an IP address. The error names the address.
func (c *Client) Status(ctx context.Context, address string, port int) (protocol.Status, error) {
	return ask[protocol.Status](ctx, c, net.JoinHostPort(address, strconv.Itoa(port)))
}

// ProxyStatus asks the launcher of a proxy at a host and port.
func (c *Client) ProxyStatus(ctx context.Context, address string) (protocol.ProxyStatus, error) {
	return ask[protocol.ProxyStatus](ctx, c, address)
}

func ask[T any](ctx context.Context, c *Client, address string) (status T, err error) {
	target := url.URL{Scheme: "http", Host: address, Path: protocol.StatusPath}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return status, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return status, err // it names the URL
	}
	defer response.Body.Close()
	if err := decode(response, &status); err != nil {
		return *new(T), fmt.Errorf("%s: %w", target.String(), err)
	}
	return status, nil
}

var errAnswer = errors.New("not the answer of a launcher")

func decode(response *http.Response, status any) error {
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s", errAnswer, response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(status); err != nil {
		return fmt.Errorf("%w: %w", errAnswer, err)
	}
	return nil
}
