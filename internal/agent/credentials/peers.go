// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// peers are the other nodes of the cache.
type peers interface {
	// completed succeeds if the memcached at an address accepts nothing that is not in the content with a key, and those of the nodes
	// after it accept nothing either.
	completed(ctx context.Context, server, key string) error
}

// RevocationPath is where an agent tells another one that it has completed. Both show that they know the content of the
// Secrets, and reveal nothing of it: nobody else gets an answer, or can give one.
const RevocationPath = "/revocation"

// What a code authenticates. The name of the node that is asked is part of it, so that no other one can answer in its place.
const (
	ofRequest  = "question"
	ofResponse = "answer"
)

// Parameters of a request.
const (
	nonceParameter = "nonce"
	codeParameter  = "proof"
)

// codeOf is what only those can compute who know the key.
func codeOf(key, of, node, nonce string) string {
	code := hmac.New(sha256.New, []byte(key))
	_, _ = fmt.Fprintf(code, "%s\n%s\n%s", of, node, nonce) // never fails
	return hex.EncodeToString(code.Sum(nil))
}

// agents asks the agents of the other nodes.
type agents struct {
	port   string
	client *http.Client
}

// peerTimeout limits a request.
const peerTimeout = 2 * time.Second

func newAgents(port string) agents {
	return agents{port: port, client: &http.Client{
		Timeout:       peerTimeout,
		Transport:     &http.Transport{DisableKeepAlives: true}, // the next request is for a process that may be another one
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

var errNotCompleted = errors.New("it has not restarted yet, or its Secrets have another content")

// completed implements peers.
func (a agents) completed(ctx context.Context, server, key string) error {
	host, _, err := net.SplitHostPort(server)
	if err != nil {
		return err
	}
	node, _, _ := strings.Cut(host, ".")
	nonce := rand.Text()
	where := url.URL{Scheme: "http", Host: net.JoinHostPort(host, a.port), Path: RevocationPath, RawQuery: url.Values{
		nonceParameter: {nonce}, codeParameter: {codeOf(key, ofRequest, node, nonce)},
	}.Encode()}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, where.String(), http.NoBody)
	if err != nil {
		return err
	}
	response, err := a.client.Do(request)
	if err != nil {
		return fmt.Errorf("the agent of %s does not answer: %w", node, cause(err))
	}
	defer response.Body.Close()
	want := codeOf(key, ofResponse, node, nonce)
	got, err := io.ReadAll(io.LimitReader(response.Body, int64(len(want))))
	if err != nil {
		return fmt.Errorf("the agent of %s does not answer: %w", node, cause(err))
	}
	if !hmac.Equal(got, []byte(want)) {
		return fmt.Errorf("%s: %w", node, errNotCompleted)
	}
	return nil
}

// cause leaves out what differs with each request: the code, which no log should have, and the port of the client.
func cause(err error) error {
	if ofURL, ok := errors.AsType[*url.Error](err); ok {
		err = ofURL.Err
	}
	if ofNetwork, ok := errors.AsType[*net.OpError](err); ok {
		err = ofNetwork.Err
	}
	return err
}

// answerPeer answers an agent that asks whether a node has completed with the content with a key. An empty key means that it has not.
func answerPeer(w http.ResponseWriter, request *http.Request, node, key string) {
	query := request.URL.Query()
	nonce := query.Get(nonceParameter)
	if key == "" || !hmac.Equal([]byte(query.Get(codeParameter)), []byte(codeOf(key, ofRequest, node, nonce))) {
		http.Error(w, errNotCompleted.Error(), http.StatusConflict)
		return
	}
	_, _ = io.WriteString(w, codeOf(key, ofResponse, node, nonce)) // who has gone needs no answer
}
