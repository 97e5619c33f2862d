// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/example/memcached-operator/internal/agent/stats"
)

// server is a memcached that can be asked what it has read.
type server interface {
	// answers succeeds if memcached serves. Before, it has no handler for SIGHUP, which would end it.
	answers(ctx context.Context) error
	// certificate returns the one that memcached shows to clients.
	certificate(ctx context.Context) (*x509.Certificate, error)
	// accepts reports whether a user can log in.
	accepts(ctx context.Context, user User) (bool, error)
	// refreshed returns when memcached last read its certificates, in seconds since its start, as one of the users.
	refreshed(ctx context.Context, users []User) (int64, error)
}

// questionTimeout limits each question. memcached answers within a millisecond, unless it hangs.
const questionTimeout = time.Second

// network asks memcached as clients do.
type network struct{ plaintext, tls string }

// conversation is a connection for one question.
type conversation struct {
	net.Conn

	replies *bufio.Reader
}

func dial(ctx context.Context, address string) (*conversation, error) {
	limited, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(limited, "tcp", address)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(questionTimeout)); err != nil {
		_ = conn.Close() // the error above says more
		return nil, err
	}
	return &conversation{Conn: conn, replies: stats.NewReader(conn)}, nil
}

// answers implements server. At its connection limit, memcached serves.
func (n network) answers(ctx context.Context) error {
	err := n.talk(ctx, func(c *conversation) error { return expectLogin(c, c.replies) })
	if errors.Is(err, errNoLogin) || errors.Is(err, stats.ErrConnectionLimit) {
		return nil
	}
	return err
}

// talk has a conversation.
func (n network) talk(ctx context.Context, about func(*conversation) error) error {
	c, err := dial(ctx, n.plaintext)
	if err != nil {
		return err
	}
	defer c.Close()
	return about(c)
}

// errUnreadable is the reply to stats that lacks something.
var errUnreadable = errors.New("the statistics of memcached do not say when it read its certificates")

// refreshed implements server.
func (n network) refreshed(ctx context.Context, users []User) (seconds int64, err error) {
	err = n.talk(ctx, func(c *conversation) error {
		if err := LogIn(c, c.replies, users); err != nil {
			return err
		}
		if _, err := c.Write([]byte(stats.Requests)); err != nil {
			return err
		}
		read, err := stats.Read(c.replies)
		if err != nil {
			return err
		}
		uptime, err := strconv.ParseInt(read.General["uptime"], 10, 64)
		if err != nil {
			return errUnreadable
		}
		age, err := strconv.ParseInt(read.General["time_since_server_cert_refresh"], 10, 64)
		if err != nil {
			return errUnreadable
		}
		seconds = uptime - age
		return nil
	})
	return seconds, err
}

// accepts implements server.
func (n network) accepts(ctx context.Context, user User) (accepted bool, err error) {
	err = n.talk(ctx, func(c *conversation) error {
		if err := expectLogin(c, c.replies); err != nil {
			return err
		}
		accepted, err = logIn(c, c.replies, user)
		return err
	})
	return accepted, err
}

// certificate implements server. With mutual TLS, memcached refuses the agent, which has no certificate, but shows its own before.
func (n network) certificate(ctx context.Context) (*x509.Certificate, error) {
	conn, err := dial(ctx, n.tls)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var shown *x509.Certificate
	client := tls.Client(conn, &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // it is compared with the one that memcached should show, byte by byte
		VerifyConnection: func(state tls.ConnectionState) error {
			shown = state.PeerCertificates[0]
			return nil
		},
	})
	err = client.HandshakeContext(ctx)
	if shown != nil {
		return shown, nil
	}
	var notTLS tls.RecordHeaderError
	if errors.As(err, &notTLS) && string(notTLS.RecordHeader[:]) == "ERROR" {
		return nil, stats.ErrConnectionLimit
	}
	return nil, fmt.Errorf("TLS handshake: %w", err)
}
