// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/credentials"
	"github.com/example/memcached-operator/test/traffic"
)

const tlsPort = 11212

// secured is a cache with TLS, with users, or with both. It also holds the cache's Secrets, and clients that the cache admits.
type secured struct {
	mc *cachev1alpha1.Memcached
	// authority signs the certificates of the nodes, and that of the member.
	authority *credentials.Authority
	// pair is the Secret for TLS, and users is the Secret with the users. Each is nil if the cache has no such Secret.
	pair, users *corev1.Secret
	// member and reader are clients that the nodes admit. Both have the same certificate.
	member, reader visitor
}

// visitor is a client's credentials: a certificate, a user with a password, both, or neither.
type visitor struct {
	identity       credentials.Identity
	user, password string
}

func mutualTLS(mc *cachev1alpha1.Memcached) {
	mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: mc.Name + "-tls", ClientAuth: cachev1alpha1.ClientAuthRequire}
}

func withUsers(mc *cachev1alpha1.Memcached) {
	mc.Spec.Auth = &cachev1alpha1.MemcachedAuth{SecretName: mc.Name + "-users"}
}

// newSecured creates a Memcached and the Secrets that its spec names. It does not wait until the Memcached is Ready.
func newSecured(ctx context.Context, namespace string, size int32, edits ...clustertest.Edit) *secured {
	GinkgoHelper()
	s := &secured{authority: clustertest.Must(credentials.NewAuthority("shop"))}
	s.mc = &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache"},
		Spec:       cachev1alpha1.MemcachedSpec{Size: size, Workload: cachev1alpha1.WorkloadStatefulSet},
	}
	for _, edit := range edits {
		edit(s.mc)
	}
	if s.mc.Spec.TLS != nil {
		s.addPair(ctx)
	}
	if s.mc.Spec.Auth != nil {
		s.users = s.newSecret("-users", corev1.SecretTypeOpaque)
		s.member.user, s.member.password = "web", "the-first-password-of-web"
		s.reader = visitor{s.member.identity, "reader", "the-only-password-of-reader"}
		s.put(ctx, s.users, logins(s.member, s.reader))
	}
	Expect(k8s.Create(ctx, s.mc)).To(Succeed())
	return s
}

// addPair creates the Secret with the certificate of the nodes, and gives the member a certificate.
func (s *secured) addPair(ctx context.Context) {
	GinkgoHelper()
	s.pair = s.newSecret("-tls", corev1.SecretTypeTLS)
	s.member.identity = clustertest.Must(s.authority.User("application"))
	s.put(ctx, s.pair, s.newPair(s.authority))
}

func (s *secured) newSecret(suffix string, kind corev1.SecretType) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.mc.Namespace, Name: s.mc.Name + suffix}, Type: kind}
}

// put creates a Secret with this content, or replaces the content.
func (s *secured) put(ctx context.Context, secret *corev1.Secret, content map[string][]byte) {
	GinkgoHelper()
	secret.Data = content
	if secret.ResourceVersion == "" {
		Expect(k8s.Create(ctx, secret)).To(Succeed())
		return
	}
	Expect(k8s.Update(ctx, secret)).To(Succeed())
}

// host is the Service whose name clients verify: that of the proxies, or else that of the nodes.
func (s *secured) host() string {
	if s.mc.Spec.Proxy != nil {
		return s.mc.Name + "." + s.mc.Namespace + ".svc"
	}
	return nodesOf(s.mc.Name) + "." + s.mc.Namespace + ".svc"
}

// newPair returns content for the Secret for TLS: a new certificate of the servers, its key, and the CAs of clients.
func (s *secured) newPair(clients ...*credentials.Authority) map[string][]byte {
	GinkgoHelper()
	host := s.host()
	identity := clustertest.Must(s.authority.Server("cache",
		"*."+host, "*."+host+".cluster.local", host, host+".cluster.local", "localhost"))
	return map[string][]byte{"tls.crt": identity.Certificate, "tls.key": identity.Key, "ca.crt": bundle(clients...)}
}

func logins(visitors ...visitor) map[string][]byte {
	users := map[string][]byte{}
	for _, v := range visitors {
		users[v.user] = []byte(v.password)
	}
	return users
}

func bundle(authorities ...*credentials.Authority) []byte {
	var certificates [][]byte
	for _, authority := range authorities {
		certificates = append(certificates, authority.PEM())
	}
	return bytes.Join(certificates, nil)
}

// serial returns the serial number of the certificate in the Secret, as agents print it.
func (s *secured) serial() string {
	GinkgoHelper()
	return serialOf(clustertest.Must(tls.X509KeyPair(s.pair.Data["tls.crt"], s.pair.Data["tls.key"])).Leaf)
}

func serialOf(certificate *x509.Certificate) string {
	return hex.EncodeToString(certificate.SerialNumber.Bytes())
}

func (s *secured) address(pod *corev1.Pod) string {
	if s.mc.Spec.TLS == nil {
		return traffic.Address(pod)
	}
	return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(tlsPort))
}

// config returns the TLS configuration of a visitor. The visitor verifies the name of the Service.
func (s *secured) config(v visitor) *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.authority.PEM())
	config := &tls.Config{RootCAs: roots, ServerName: s.host()}
	if v.identity.Key != nil {
		// Go sends a certificate of config.Certificates only if the node names the CA that has signed it. The tests also need clients that
		// send a certificate of another CA, which the node must refuse.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			certificate, err := tls.X509KeyPair(v.identity.Certificate, v.identity.Key)
			return &certificate, err
		}
	}
	return config
}

// patience is how long a client waits for an answer, even on a busy machine.
const patience = 10 * time.Second

func dialTLS(ctx context.Context, address string, config *tls.Config) (net.Conn, error) {
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: patience}, Config: config}
	return dialer.DialContext(ctx, "tcp", address)
}

// enter connects to a node with the credentials of a visitor. It logs in if the visitor has a password.
func (s *secured) enter(ctx context.Context, address string, v visitor) (net.Conn, error) {
	connect := func() (net.Conn, error) { return dialTLS(ctx, address, s.config(v)) }
	if s.mc.Spec.TLS == nil {
		connect = func() (net.Conn, error) { return dial(ctx, "tcp", address) }
	}
	conn, err := connect()
	if err != nil || v.password == "" {
		return conn, err
	}
	if err := v.login(conn); err != nil {
		_ = conn.Close() // the error of the login says more
		return nil, err
	}
	return conn, nil
}

func (v visitor) login(conn net.Conn) error {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	token := v.user + " " + v.password
	if _, err := fmt.Fprintf(conn, "set login 0 0 %d\r\n%s\r\n", len(token), token); err != nil {
		return err
	}
	reply, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && reply != "STORED\r\n" {
		err = fmt.Errorf("the reply to the login is %q", reply)
	}
	return cmp.Or(err, conn.SetDeadline(time.Time{}))
}

// visit connects to a node as the method enter does, and sends a command. It fails unless memcached answers the command.
func (s *secured) visit(ctx context.Context, address string, v visitor) (*traffic.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := s.enter(limited, address, v)
	if err != nil {
		return nil, err
	}
	node := memcache.NewConn(conn, address)
	reply, err := node.Command(limited, "mn")
	if err == nil && reply != "MN" {
		err = fmt.Errorf("the reply is %q", reply)
	}
	if err != nil {
		_ = node.Close() // the error of the command says more
		return nil, err
	}
	return node, nil
}

// mayEnter returns an error unless a visitor can connect, log in and send a command.
func (s *secured) mayEnter(ctx context.Context, address string, v visitor) error {
	node, err := s.visit(ctx, address, v)
	if err != nil {
		return fmt.Errorf("the user %q: %w", v.user, err)
	}
	return node.Close()
}

// newClient returns a client of all nodes, with the credentials of a visitor.
func (s *secured) newClient(ctx context.Context, v visitor) *traffic.Client {
	var servers []traffic.Server
	for _, pod := range k8s.Pods(ctx, s.mc) {
		servers = append(servers, traffic.Server{Name: pod.Name, Address: s.address(&pod)})
	}
	dial := func(ctx context.Context, _, address string) (net.Conn, error) { return s.enter(ctx, address, v) }
	cache := traffic.NewClient(clustertest.Must(traffic.NewRing(servers...)), dial)
	cache.SetTimeout(patience)                 // on a busy machine, a late response is no loss
	DeferCleanup(func() { _ = cache.Close() }) // memcached may have restarted
	return cache
}
