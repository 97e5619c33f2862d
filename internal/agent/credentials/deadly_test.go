// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package credentials

import (
	"context"
	"crypto/x509"
	"log/slog"
)

// mustDieAt runs an agent that a panic kills at this step: see deadlyRequests.
func (p *pod) mustDieAt(step string) {
	p.t.Helper()
	dying := New(p.config, p.plaintext, slog.New(slog.NewTextHandler(&p.log, nil)))
	deadly := &deadlyRequests{processes: p.agent.processes, server: dying.server, step: step}
	dying.processes, dying.server, dying.sleep = deadly, deadly, p.agent.sleep
	if survives(func() { _ = dying.Run(p.t.Context()) }) {
		p.t.Errorf("the agent survives %s", step)
	}
}

// deadlyRequests passes the agent's calls on to the real processes and server. It panics when a call reaches the step.
type deadlyRequests struct {
	processes
	server

	step  string
	finds int
}

func (d *deadlyRequests) at(step string) {
	if d.step == step {
		panic(killed{})
	}
}

func (d *deadlyRequests) find() (Process, error) {
	d.finds++
	if d.finds == 2 {
		d.at("swapped")
	}
	d.at("found")
	return d.processes.find()
}

func (d *deadlyRequests) answers(ctx context.Context) error {
	d.at("asked")
	return d.server.answers(ctx)
}

func (d *deadlyRequests) refreshed(ctx context.Context, users []User) (int64, error) {
	d.at("refreshed")
	return d.server.refreshed(ctx, users)
}

func (d *deadlyRequests) hangUp(process Process) error {
	err := d.processes.hangUp(process)
	d.at("signaled")
	return err
}

func (d *deadlyRequests) certificate(ctx context.Context, algorithm x509.PublicKeyAlgorithm) (*x509.Certificate, error) {
	d.at("shown")
	return d.server.certificate(ctx, algorithm)
}

func (d *deadlyRequests) accepts(ctx context.Context, user User) (bool, error) {
	accepted, err := d.server.accepts(ctx, user)
	if accepted {
		d.at("verified")
	}
	return accepted, err
}
