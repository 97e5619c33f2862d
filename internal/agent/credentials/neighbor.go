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

// neighbors are the other nodes of the cache.
type neighbors interface {
	// done succeeds if the memcached at an address has forgotten whatever the generation with a key does not have, and so have those of
	// the nodes after it.
	done(ctx context.Context, server, key string) error
}

// RevocationPath is where an agent tells another one that it is done. Both prove that they know the content of the Secrets, and show
// nothing of it: nobody else gets an answer, or can give one.
const RevocationPath = "/revocation"

// What is proven. The name of the node that is asked is part of it, so that no other one can answer in its place.
const (
	question = "question"
	answer   = "answer"
)

// Parameters of a question.
const (
	nonceParameter = "nonce"
	proofParameter = "proof"
)

// proof is what only those can compute who know the key.
func proof(key, of, node, nonce string) string {
	code := hmac.New(sha256.New, []byte(key))
	_, _ = fmt.Fprintf(code, "%s\n%s\n%s", of, node, nonce) // never fails
	return hex.EncodeToString(code.Sum(nil))
}

// agents asks the agents of the other nodes.
type agents struct {
	port   string
	client *http.Client
}

// neighborTimeout limits a question with its answer.
const neighborTimeout = 2 * time.Second

func newAgents(port string) agents {
	return agents{port: port, client: &http.Client{
		Timeout:       neighborTimeout,
		Transport:     &http.Transport{DisableKeepAlives: true}, // the next question is for a process that may be another one
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

var errNotDone = errors.New("it has not restarted yet, or its Secrets have another content")

// done implements neighbors.
func (a agents) done(ctx context.Context, server, key string) error {
	host, _, err := net.SplitHostPort(server)
	if err != nil {
		return err
	}
	node, _, _ := strings.Cut(host, ".")
	nonce := rand.Text()
	where := url.URL{Scheme: "http", Host: net.JoinHostPort(host, a.port), Path: RevocationPath, RawQuery: url.Values{
		nonceParameter: {nonce}, proofParameter: {proof(key, question, node, nonce)},
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
	want := proof(key, answer, node, nonce)
	got, err := io.ReadAll(io.LimitReader(response.Body, int64(len(want))))
	if err != nil {
		return fmt.Errorf("the agent of %s does not answer: %w", node, cause(err))
	}
	if !hmac.Equal(got, []byte(want)) {
		return fmt.Errorf("%s: %w", node, errNotDone)
	}
	return nil
}

// cause leaves out what is different with each question: the proof, which no log should have, and the port of the asker.
func cause(err error) error {
	if ofURL, ok := errors.AsType[*url.Error](err); ok {
		err = ofURL.Err
	}
	if ofNetwork, ok := errors.AsType[*net.OpError](err); ok {
		err = ofNetwork.Err
	}
	return err
}

// ServeRevocation answers agents that ask whether memcached has forgotten what was removed.
func (r *Reloader) ServeRevocation(w http.ResponseWriter, request *http.Request) {
	r.mutex.Lock()
	key := r.forgotten
	r.mutex.Unlock()
	query := request.URL.Query()
	nonce := query.Get(nonceParameter)
	if key == "" || !hmac.Equal([]byte(query.Get(proofParameter)), []byte(proof(key, question, r.node, nonce))) {
		http.Error(w, errNotDone.Error(), http.StatusConflict)
		return
	}
	_, _ = io.WriteString(w, proof(key, answer, r.node, nonce)) // who has gone needs no answer
}
