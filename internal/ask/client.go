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
	"net/url"
	"strconv"
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
	return &Client{http: &http.Client{
		Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true, MaxResponseHeaderBytes: maxAnswer},
		Timeout:       Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Launcher asks the launcher of a node for its status. address is an IP address or a host name. Errors contain the address.
func (c *Client) Launcher(ctx context.Context, address string, port int) (protocol.Status, error) {
	return c.LauncherAt(ctx, net.JoinHostPort(address, strconv.Itoa(port)))
}

// LauncherAt asks the launcher of a node for its status. address is host:port.
func (c *Client) LauncherAt(ctx context.Context, address string) (protocol.Status, error) {
	var status protocol.Status
	err := c.get(ctx, url.URL{Host: address, Path: protocol.StatusPath}, &status)
	return status, err
}

// Proxy asks the launcher of a proxy for its status. address is host:port.
func (c *Client) Proxy(ctx context.Context, address string) (protocol.ProxyStatus, error) {
	var status protocol.ProxyStatus
	err := c.get(ctx, url.URL{Host: address, Path: protocol.StatusPath}, &status)
	return status, err
}

// Agent asks an agent for its status. address is an IP address or a host name, and errors contain it. hosts are the names by which
// clients reach the node: the agent checks whether the certificate is for them.
func (c *Client) Agent(ctx context.Context, address string, port int, hosts []string) (agentprotocol.Status, error) {
	var status agentprotocol.Status
	err := c.get(ctx, url.URL{
		Host: net.JoinHostPort(address, strconv.Itoa(port)), Path: agentprotocol.StatusPath,
		RawQuery: agentprotocol.StatusQuery(hosts).Encode(),
	}, &status)
	return status, err
}

func (c *Client) get(ctx context.Context, target url.URL, status any) error {
	target.Scheme = "http"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return withoutSource(err) // the error names the URL
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%w: %s", errAnswer, response.Status)
	} else {
		err = Decode(response.Body, status)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", target.String(), withoutSource(err))
	}
	return nil
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

// Decode decodes a JSON answer into status. It reads at most maxAnswer bytes.
func Decode(answer io.Reader, status any) error {
	if err := json.NewDecoder(io.LimitReader(answer, maxAnswer)).Decode(status); err != nil {
		return fmt.Errorf("%w: %w", errAnswer, err)
	}
	return nil
}
