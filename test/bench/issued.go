// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/credentials"
	"github.com/example/memcached-operator/test/traffic"
)

// loopbackHost is the host to which clients connect.
const loopbackHost = "127.0.0.1"

// userName is the only user name of memcached.
const userName = "bench"

// issued contains the credentials of a node and of its clients.
type issued struct {
	authority    *credentials.Authority
	node, client credentials.Identity
	password     string
}

func issue() (issued, error) {
	// The authority has another name than the user: if the subject and the issuer of a client certificate were equal, the certificate
	// would look self-signed.
	authority, err := credentials.NewAuthority("authority of the benchmark")
	if err != nil {
		return issued{}, err
	}
	node, err := authority.Server("memcached", loopbackHost)
	client, failure := authority.User(userName)
	return issued{authority: authority, node: node, client: client, password: rand.Text()}, errors.Join(err, failure)
}

// certificate returns the data of the Secret in spec.tls.
func (i issued) certificate() map[string][]byte {
	return map[string][]byte{
		corev1.TLSCertKey: i.node.Certificate, corev1.TLSPrivateKeyKey: i.node.Key, "ca.crt": i.authority.PEM(),
	}
}

// files returns the files that the agent would write for memcached.
func (i issued) files() map[string][]byte {
	files := i.certificate()
	files["users"] = fmt.Appendf(nil, "%s:%s\n", userName, i.password)
	return files
}

// nodeClient connects to a node. If config is nil, it does not use TLS. If login is empty, it does not authenticate.
type nodeClient struct {
	config *tls.Config
	login  string
}

// clientOf returns a client with the certificate and the login that the spec demands.
func (i issued) clientOf(mc *cachev1alpha1.Memcached) (nodeClient, error) {
	var c nodeClient
	if mc.Spec.Auth != nil {
		c.login = userName + " " + i.password
	}
	if mc.Spec.TLS == nil {
		return c, nil
	}
	c.config = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS13}
	if !c.config.RootCAs.AppendCertsFromPEM(i.authority.PEM()) {
		return c, errors.New("the authority has no certificate")
	}
	if mc.Spec.TLS.ClientAuth == cachev1alpha1.ClientAuthRequire {
		pair, err := tls.X509KeyPair(i.client.Certificate, i.client.Key)
		if err != nil {
			return c, err
		}
		c.config.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// connect opens a connection and sends one command. With TLS 1.3, a client learns only from the first reply whether its certificate
// was refused.
func (c nodeClient) connect(ctx context.Context, address string) (*traffic.Conn, error) {
	var dial traffic.DialFunc
	if c.config != nil {
		dial = (&tls.Dialer{Config: c.config}).DialContext
	}
	conn, err := traffic.Connect(ctx, dial, address)
	if err != nil {
		return nil, err
	}
	command, want := "mn", "MN"
	if c.login != "" {
		command, want = fmt.Sprintf("set login 0 0 %d\r\n%s", len(c.login), c.login), "STORED"
	}
	reply, err := conn.Command(ctx, command)
	if err == nil && reply != want {
		err = fmt.Errorf("%s: the reply is %q", address, reply)
	}
	if err != nil {
		_ = conn.Close() // the caller gets the error above
		return nil, err
	}
	return conn, nil
}
