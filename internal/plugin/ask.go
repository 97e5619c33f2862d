// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/internal/memcache"
)

// atATime limits how many nodes are asked in parallel.
const atATime = 32

// errNoAnswer means that a node has not answered in time.
var errNoAnswer = errors.New("no answer in time")

type notRunningError struct{ state string }

func (e *notRunningError) Error() string { return "memcached does not run: " + e.state }

// question sends requests to a node and reads the replies.
type question func(ctx context.Context, conn *memcache.Conn) error

// askEach asks the pods in parallel: ask(i) is the question for pods[i]. The result has an error or nil for each pod.
func (s *session) askEach(ctx context.Context, c *cluster, pods []corev1.Pod, ask func(i int) question) []error {
	failures := make([]error, len(pods))
	progress := s.newProgress(len(pods))
	defer progress.clear()
	atOnce(len(pods), func(i int) {
		failures[i] = s.ask(ctx, c, &pods[i], ask(i))
		progress.step()
	})
	return failures
}

// atOnce calls the function run with 0 to count-1, up to atATime calls in parallel.
func atOnce(count int, run func(i int)) {
	slots := make(chan struct{}, atATime)
	var running sync.WaitGroup
	for i := range count {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			run(i)
		})
	}
	running.Wait()
}

// ask connects to the memcached of a pod, logs in if necessary, and asks the question.
func (s *session) ask(ctx context.Context, c *cluster, pod *corev1.Pod, ask question) error {
	if !runs(pod) {
		return &notRunningError{stateOf(pod)}
	}
	limited, cancel := context.WithTimeoutCause(ctx, s.nodeTimeout, errNoAnswer)
	defer cancel()
	raw, err := c.dial(limited, pod, portOf(pod))
	if err != nil {
		return err
	}
	conn := memcache.NewConn(raw, pod.Name)
	defer func() { _ = conn.Close() }() // an error does not matter, because nothing more is sent or read
	if err := c.login.logIn(limited, conn); err != nil {
		return err
	}
	return refused(ask(limited, conn))
}

// progress shows on a terminal how many nodes were asked, unless there are fewer than worthCounting.
type progress struct {
	session *session
	total   int
	done    atomic.Int64
	mutex   sync.Mutex
}

const worthCounting = 20

func (s *session) newProgress(total int) *progress {
	if total < worthCounting || !isTerminal(s.ErrOut) {
		total = 0
	}
	return &progress{session: s, total: total}
}

func (p *progress) step() {
	if p.total == 0 {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	fmt.Fprintf(p.session.ErrOut, "\r%d of %d nodes", p.done.Add(1), p.total)
}

func (p *progress) clear() {
	if p.total > 0 {
		fmt.Fprint(p.session.ErrOut, "\r\033[K")
	}
}
