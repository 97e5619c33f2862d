// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package ask asks launchers and agents, in the pods of nodes and proxies, for their status. A node is a memcached that stores
// items. A proxy is a memcached that passes requests on to nodes. The launcher is the parent process of memcached, and the agent is
// a container beside memcached.
package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	agentprotocol "github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/launcher/protocol"
)

const (
	// Timeout limits the time of a request and its answer, because a change of nodes waits for the answer.
	Timeout = time.Second
	// maxAnswer limits how many bytes of an answer's body are read. A client from New also limits the header to this size. The limits
	// are necessary because the owner of the pod controls the answer.
	maxAnswer = 4 << 10
)

// Client connects to the addresses of pods. It does not follow redirects.
type Client struct{ http *http.Client }

// New returns a client that limits each request to Timeout. It ignores HTTP proxies in the environment, because they cannot reach
// pods.
func New() *Client {
	return Through(&http.Transport{Proxy: nil, DisableKeepAlives: true, MaxResponseHeaderBytes: maxAnswer})
}

// Through returns a client with this transport that limits each request to Timeout.
func Through(transport http.RoundTripper) *Client {
	return &Client{http: &http.Client{
		Transport:     transport,
		Timeout:       Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Launcher asks the launcher of a node for its status. base is the URL of its server, such as http://10.0.0.1:9151. Errors contain it.
func (c *Client) Launcher(ctx context.Context, base string) (protocol.Status, error) {
	return get[protocol.Status](ctx, c, base+protocol.StatusPath)
}

// Proxy asks the launcher of a proxy for its status.
func (c *Client) Proxy(ctx context.Context, base string) (protocol.ProxyStatus, error) {
	return get[protocol.ProxyStatus](ctx, c, base+protocol.StatusPath)
}

// Agent asks an agent for its status. hosts are the names by which clients reach the node: the agent checks whether the certificate is
// for them.
func (c *Client) Agent(ctx context.Context, base string, hosts []string) (agentprotocol.Status, error) {
	return get[agentprotocol.Status](ctx, c, base+agentprotocol.StatusPath+"?"+agentprotocol.StatusQuery(hosts).Encode())
}

func get[T any](ctx context.Context, c *Client, target string) (status T, _ error) {
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
