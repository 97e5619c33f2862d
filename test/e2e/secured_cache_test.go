// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/credentials"
	"github.com/example/memcached-operator/test/traffic"
)

// secured is a cache with everything that keeps strangers out.
type secured struct {
	mc        *cachev1alpha1.Memcached
	addresses []string
	authority *credentials.Authority
	// pair and users are the Secrets, client is the certificate of an application.
	pair, users *corev1.Secret
	passwords   map[string]string
	client      tls.Certificate
	private     []string
}

// newSecured creates the Memcached before its Secrets.
func newSecured(ctx context.Context, edits ...clustertest.Edit) *secured {
	GinkgoHelper()
	namespace := k8s.NewNamespace(ctx)
	s := &secured{
		authority: clustertest.Must(credentials.NewAuthority("shop")),
		pair:      &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache-tls"}, Type: corev1.SecretTypeTLS},
		users:     &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache-users"}},
	}
	s.setPasswords(map[string]string{"web": "the-first-password"})
	s.client = issueClient(s.authority)
	withSecrets := func(mc *cachev1alpha1.Memcached) {
		mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: s.pair.Name, ClientAuth: cachev1alpha1.ClientAuthRequire}
		mc.Spec.Auth = &cachev1alpha1.MemcachedAuth{SecretName: s.users.Name}
	}
	edits = append([]clustertest.Edit{leavesQuickly, clustertest.RunBy(cachev1alpha1.WorkloadStatefulSet), withSecrets}, edits...)
	s.mc = k8s.CreateMemcached(ctx, namespace, 2, edits...)
	return s
}

// issueClient returns the certificate of a client.
func issueClient(by *credentials.Authority) tls.Certificate {
	GinkgoHelper()
	identity := clustertest.Must(by.User("application"))
	return clustertest.Must(tls.X509KeyPair(identity.Certificate, identity.Key))
}

// renew puts a new certificate of the nodes into the Secret and returns its serial number.
func (s *secured) renew() string {
	GinkgoHelper()
	host := s.mc.Name + "." + s.mc.Namespace + ".svc"
	identity := clustertest.Must(s.authority.Server("cache", host, "*."+host, "localhost"))
	s.pair.Data = map[string][]byte{"tls.crt": identity.Certificate, "tls.key": identity.Key, "ca.crt": s.authority.PEM()}
	s.private = append(s.private, strings.Split(string(identity.Key), "\n")[1])
	pair := clustertest.Must(tls.X509KeyPair(identity.Certificate, identity.Key))
	return pair.Leaf.SerialNumber.Text(16)
}

// config is that of a client with certificates, which checks the name of the Service.
func (s *secured) config(certificates ...tls.Certificate) *tls.Config {
	GinkgoHelper()
	roots := x509.NewCertPool()
	Expect(roots.AppendCertsFromPEM(s.authority.PEM())).To(BeTrue())
	return &tls.Config{RootCAs: roots, ServerName: s.mc.Name + "." + s.mc.Namespace + ".svc", Certificates: certificates}
}

func dialTLS(ctx context.Context, address string, config *tls.Config) (net.Conn, error) {
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: 5 * time.Second}, Config: config}
	return dialer.DialContext(ctx, "tcp", address)
}

// login connects with TLS and logs in.
func login(ctx context.Context, address string, config *tls.Config, user, password string) (net.Conn, error) {
	secure, err := dialTLS(ctx, address, config)
	if err != nil {
		return nil, err
	}
	token := user + " " + password
	err = secure.SetDeadline(time.Now().Add(5 * time.Second))
	if err == nil {
		_, err = fmt.Fprintf(secure, "set login 0 0 %d\r\n%s\r\n", len(token), token)
	}
	var reply string
	if err == nil {
		reply, err = bufio.NewReaderSize(secure, 16).ReadString('\n')
	}
	if err == nil && reply != "STORED\r\n" {
		err = fmt.Errorf("the reply to the login is %q", reply)
	}
	if err == nil {
		err = secure.SetDeadline(time.Time{})
	}
	if err != nil {
		_ = secure.Close()
		return nil, err
	}
	return secure, nil
}

// setPasswords is not for the Secret of the cluster yet.
func (s *secured) setPasswords(passwords map[string]string) {
	s.passwords, s.users.Data = passwords, map[string][]byte{}
	for user, password := range passwords {
		s.users.Data[user] = []byte(password)
		s.private = append(s.private, password)
	}
}

// connect connects until the spec ends.
func (s *secured) connect(ctx context.Context, address, user string) *traffic.Conn {
	GinkgoHelper()
	dial := func(ctx context.Context, _, address string) (net.Conn, error) {
		return login(ctx, address, s.config(s.client), user, s.passwords[user])
	}
	conn := clustertest.Must(traffic.Connect(ctx, dial, address))
	DeferCleanup(func() { _ = conn.Close() })
	return conn
}
