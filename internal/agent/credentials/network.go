// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/example/memcached-operator/internal/memcache"
)

// server is memcached as the proof sees it. Each method sends a request to memcached. The replies show which files memcached has read.
type server interface {
	// answers returns nil if memcached serves. A memcached that does not serve yet does not handle SIGHUP: the signal would end it.
	answers(ctx context.Context) error
	// certificate returns the certificate that memcached presents to a client, preferably one whose key has this algorithm.
	certificate(ctx context.Context, algorithm x509.PublicKeyAlgorithm) (*x509.Certificate, error)
	// accepts reports whether a user can log in.
	accepts(ctx context.Context, user User) (bool, error)
	// refreshed logs in as one of the users. It returns when memcached last read its certificates, in seconds since memcached's start.
	refreshed(ctx context.Context, users []User) (int64, error)
}

// requestTimeout limits each request.
const requestTimeout = time.Second

// network connects to memcached as clients do.
type network struct{ plaintext, tls string }

// do runs a request over a new connection, within requestTimeout.
func (n network) do(ctx context.Context, request func(ctx context.Context, conn *memcache.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	conn, err := memcache.Dial(ctx, n.plaintext)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return request(ctx, conn)
}

// answers implements server. A memcached at its connection limit counts as serving.
func (n network) answers(ctx context.Context) error {
	err := n.do(ctx, func(ctx context.Context, conn *memcache.Conn) error {
		_, err := conn.DemandsLogin(ctx)
		return err
	})
	if errors.Is(err, memcache.ErrConnectionLimit) {
		return nil
	}
	return err
}

// refreshed implements server.
func (n network) refreshed(ctx context.Context, users []User) (seconds int64, err error) {
	err = n.do(ctx, func(ctx context.Context, conn *memcache.Conn) error {
		if err := LogIn(ctx, conn, users); err != nil {
			return err
		}
		stats, err := conn.Stats(ctx)
		if err != nil {
			return err
		}
		uptime, uptimeErr := strconv.ParseInt(stats["uptime"], 10, 64)
		age, ageErr := strconv.ParseInt(stats["time_since_server_cert_refresh"], 10, 64)
		seconds = uptime - age
		return errors.Join(uptimeErr, ageErr)
	})
	return seconds, err
}

// accepts implements server.
func (n network) accepts(ctx context.Context, user User) (bool, error) {
	err := n.do(ctx, func(ctx context.Context, conn *memcache.Conn) error { return LogIn(ctx, conn, []User{user}) })
	if errors.Is(err, memcache.ErrUnauthenticated) {
		return false, nil
	}
	return err == nil, err
}

// LogIn logs in as the first user that memcached accepts. It does nothing if there are no users, or if memcached demands no login
// on this connection: it would store the user and the password as a value.
func LogIn(ctx context.Context, conn *memcache.Conn, users []User) error {
	if len(users) == 0 {
		return nil
	}
	if demanded, err := conn.DemandsLogin(ctx); err != nil || !demanded {
		return err
	}
	for _, user := range users {
		if accepted, err := conn.LogIn(ctx, user.name, user.password); accepted || err != nil {
			return err
		}
	}
	return memcache.ErrUnauthenticated
}

// suites are cipher suites of TLS 1.2, by key algorithm. With them, a client asks for a certificate whose key has this algorithm.
var suites = map[x509.PublicKeyAlgorithm][]uint16{
	x509.RSA:   {tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256},
	x509.ECDSA: {tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256},
}

// certificate implements server. In the first handshake, memcached chooses the certificate. If its key does not have the wanted
// algorithm, a second handshake asks for that algorithm, provided that it is RSA or ECDSA. The second handshake uses TLS 1.2, because
// Go's clients cannot ask for an algorithm with TLS 1.3.
func (n network) certificate(ctx context.Context, algorithm x509.PublicKeyAlgorithm) (*x509.Certificate, error) {
	preferred, err := n.handshake(ctx, &tls.Config{MinVersion: tls.VersionTLS12})
	if err == nil && preferred.PublicKeyAlgorithm != algorithm && suites[algorithm] != nil {
		asked, err := n.handshake(ctx, &tls.Config{ //nolint:gosec // TLS 1.2 at most, to ask
			MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12, CipherSuites: suites[algorithm],
		})
		if err == nil {
			return asked, nil
		}
	}
	return preferred, err // also if memcached has no certificate for the algorithm, or refuses TLS 1.2
}

// handshake returns the certificate that memcached presents. A memcached that demands certificates from clients presents its own
// certificate before it refuses the agent, which has none.
func (n network) handshake(ctx context.Context, config *tls.Config) (*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var shown *x509.Certificate
	config.InsecureSkipVerify = true // the caller decides whether this is an expected certificate
	config.VerifyConnection = func(state tls.ConnectionState) error {
		shown = state.PeerCertificates[0]
		return nil
	}
	dialer := tls.Dialer{Config: config}
	conn, err := dialer.DialContext(ctx, "tcp", n.tls)
	if err == nil {
		_ = conn.Close()
	}
	if shown != nil {
		return shown, nil
	}
	var notTLS tls.RecordHeaderError
	if errors.As(err, &notTLS) && string(notTLS.RecordHeader[:]) == "ERROR" {
		return nil, memcache.ErrConnectionLimit
	}
	return nil, fmt.Errorf("TLS handshake: %w", err)
}
