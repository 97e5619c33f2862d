// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// newCertificate is a certificate for names that lives for some days more.
func newCertificate(t *testing.T, days int, names ...string) tls.Certificate {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: names, NotBefore: now, NotAfter: now.AddDate(0, 0, days)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
}

// serveCertificate shows a certificate, and demands one of the client.
func serveCertificate(ctx context.Context, certificate tls.Certificate) net.Conn {
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		_ = tls.Server(there, &tls.Config{
			Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12,
		}).HandshakeContext(ctx)
	}()
	return here
}

// serveMetrics answers one request, without a network.
func serveMetrics(metrics string) net.Conn {
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		if _, err := http.ReadRequest(bufio.NewReader(there)); err == nil {
			_, _ = fmt.Fprintf(there, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(metrics), metrics)
		}
	}()
	return here
}

// agentSeries are the series of an agent about a certificate that lives for some days more.
func agentSeries(serial string, days, success, caRemoved, userRemoved int) string {
	return fmt.Sprintf(`# HELP memcached_agent_certificate_info 1, with the serial number.
# TYPE memcached_agent_certificate_info gauge
memcached_agent_certificate_info{serial="%s"} 1
memcached_agent_certificate_expiry_timestamp_seconds %g
memcached_agent_reload_success %d
memcached_agent_last_reload_timestamp_seconds %d
memcached_agent_restart_required{reason="ca_removed"} %d
memcached_agent_restart_required{reason="user_removed"} %d
memcached_commands_total{command="get",status="hit"} 300
memcached_commands_total{command="get",status="miss"} 100
memcached_current_bytes 1.048576e+06
memcached_current_connections 12
memcached_current_items 4000
memcached_items_evicted_total 7200
memcached_limit_bytes 6.7108864e+07
memcached_up 1
memcached_uptime_seconds 3600
memcached_version{version="1.6.45"} 1
`, serial, float64(now.AddDate(0, 0, days).Unix()), success, now.Add(-time.Minute).Unix(), caRemoved, userRemoved)
}

// mountSecrets gives the nodes of pages the agents that they have with TLS.
func mountSecrets(t *testing.T, w *world) {
	t.Helper()
	for _, name := range []string{"pages-0", "pages-1"} {
		change(t, w, &corev1.Pod{}, name, func(pod *corev1.Pod) {
			pod.Spec.InitContainers = []corev1.Container{{
				Name: memcached.AgentContainerName, Args: []string{"--memcached=127.0.0.1:11211", "--tls-secret=/etc/memcached-agent/tls"},
			}}
		})
	}
}

func secure(t *testing.T, w *world) {
	mountSecrets(t, w)
	change(t, w, &cachev1alpha1.Memcached{}, "pages", func(mc *cachev1alpha1.Memcached) {
		mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "pages-tls", ClientAuth: cachev1alpha1.ClientAuthRequire}
	})
	for name, certificate := range map[string]tls.Certificate{
		"pages-0": newCertificate(t, 60, "pages.shop.svc", "*.pages.shop.svc"), "pages-1": newCertificate(t, 2, "pages"),
	} {
		w.certificates[name] = certificate
		change(t, w, &corev1.Pod{}, name, func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports, corev1.ContainerPort{ContainerPort: memcached.TLSPort})
		})
	}
	w.logs["pages-1/memcached-agent"] = `{"level":"WARN","msg":"memcached has not read what it should","reason":"an earlier reason"}
{"level":"WARN","msg":"The Secrets cannot be used","reason":"InvalidCertificate: tls.key does not fit the first certificate in tls.crt: store the key"}
{"level":"INFO","msg":"No restart of memcached is required any more","reason":"ca_removed"}
not JSON
`
	w.agents["pages-0"] = agentSeries("4f2a90d1", 60, 1, 0, 0)
	w.agents["pages-1"] = agentSeries("0bad", 2, 0, 1, 1)
}

func secureWithUsers(t *testing.T, w *world) {
	secure(t, w)
	for _, name := range []string{"pages-0", "pages-1"} {
		change(t, w, &corev1.Pod{}, name, func(pod *corev1.Pod) {
			pod.Spec.InitContainers[0].Args = append(pod.Spec.InitContainers[0].Args, "--users-secret=/etc/memcached-agent/users")
		})
	}
	authenticate(t, w)
}

// One agent cannot be reached, the other one knows nothing.
func secureWithoutAgents(t *testing.T, w *world) {
	mountSecrets(t, w)
	w.agents["pages-1"] = ""
}

func TestExpiries(t *testing.T) {
	for left, want := range map[time.Duration]cell{
		-2 * time.Hour: {"120m ago", red}, 0: {"0s ago", red}, 71 * time.Hour: {"in 2d23h", red}, 20 * 24 * time.Hour: {"in 20d", yellow},
		21 * 24 * time.Hour: {"in 21d", plain},
	} {
		if got := expiryCell(left); got != want {
			t.Errorf("%s: got %v, want %v", left, got, want)
		}
	}
}

// What is no agent is no reason to fail.
func TestSeriesThatMakeNoSense(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "one\n", "memcached_agent_reload_success many\n", "\x00\xff 1\n"} {
		read, _ := parseSeries(strings.NewReader(text))
		if report := read.credentials(); report != nil {
			t.Errorf("%q: %+v", text, report)
		}
	}
	read, err := parseSeries(strings.NewReader("memcached_agent_reload_success 1\n"))
	report := read.credentials()
	if err != nil || report == nil || report.Reload != reloadSucceeded || report.Expiry != nil || report.Serial != "" {
		t.Errorf("got %+v", report)
	}
}

// What clients will complain about: a certificate that ends, and names that they do not find in it.
func TestCertificateProblems(t *testing.T) {
	mc := newCache("shop", "pages", 2, cachev1alpha1.WorkloadStatefulSet)
	mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "pages-tls"}
	const stable = "pages-0.pages.shop.svc"
	mc.Status.Servers = []string{stable + ":11212"}
	for _, test := range []struct {
		days  int
		names string
		want  []string
	}{
		{7, "pages.shop.svc *.pages.shop.svc", nil},
		{7, "pages.shop.svc.cluster.local *.pages.shop.svc.cluster.local", nil},
		{7, "pages.shop.svc.example *.pages.shop.svc.example", nil},
		{7, "pages.shop pages-0.pages.shop", nil},
		{6, "pages.shop.svc *.pages.shop.svc", []string{"expires in 6d: renew it in the Secret pages-tls"}},
		{0, "pages.shop.svc *.pages.shop.svc", []string{"has expired: renew it in the Secret pages-tls"}},
		{7, "pages.shop.svc", []string{"does not fit " + stable + ", "}},
		{7, "*.pages.shop.svc", []string{"does not fit pages.shop.svc, "}},
		{6, "pages-1.pages.shop.svc pages.blog.svc", []string{"expires", "does not fit pages.shop.svc and " + stable + ", "}},
	} {
		certificate, err := x509.ParseCertificate(newCertificate(t, test.days, strings.Fields(test.names)...).Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		got := certificateProblems(mc, certificate, now)
		if !slices.EqualFunc(got, test.want, strings.Contains) {
			t.Errorf("%s, %d days: got %q, want %q", test.names, test.days, got, test.want)
		}
	}
}
