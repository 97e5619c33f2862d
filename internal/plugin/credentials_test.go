// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// serveHTTP answers one request, without a network.
func serveHTTP(reply func(*http.Request) (answer, status string)) net.Conn {
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		request, err := http.ReadRequest(bufio.NewReader(there))
		if err != nil {
			return
		}
		answer, status := reply(request)
		_, _ = fmt.Fprintf(there, "HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", status, len(answer), answer)
	}()
	return here
}

func serveAgent(metrics, problems string) net.Conn {
	return serveHTTP(func(request *http.Request) (answer, status string) {
		answer, status = metrics, "200 OK"
		if request.URL.Path == "/status" {
			hosts := strings.Join(request.URL.Query()["host"], " and ")
			answer = `{"problems":[` + strings.ReplaceAll(problems, "HOSTS", hosts) + `]}`
			if problems == "" {
				answer, status = "no such page", "404 Not Found"
			}
		}
		return answer, status
	})
}

// agentSeries returns the series of an agent whose certificate expires in this number of days.
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

// mountSecrets adds an agent to each node of the cache "pages". The agent reads a Secret with TLS certificates.
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
	change(t, w, &cachev1alpha1.Memcached{}, "pages", func(mc *cachev1alpha1.Memcached) {
		meta.SetStatusCondition(&mc.Status.Conditions, metav1.Condition{
			Type: cachev1alpha1.ConditionNeedsAttention, Status: metav1.ConditionTrue, Reason: "InvalidCertificate",
			Message: `Pod pages-1 says of the Secret pages-tls: "tls.key does not fit the first certificate in tls.crt: store the key"`,
		})
	})
	for _, name := range []string{"pages-0", "pages-1"} {
		change(t, w, &corev1.Pod{}, name, func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports, corev1.ContainerPort{ContainerPort: memcached.TLSPort})
		})
	}
	w.problems["pages-0"] = `{"reason":"CertificateNames","message":"it is not for HOSTS"}`
	w.problems["pages-1"] = w.problems["pages-0"] +
		`,{"reason":"InvalidCertificate","message":"tls.key does not fit the first certificate in tls.crt: store the key"},` +
		`{"reason":"Unknown","message":"\u001b[31m"},{"reason":"RestartRequired","message":"\u001b[31muntil memcached restarts"}`
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

// crowd gives the nodes of the cache "pages" agents that only monitor memcached. One agent reports that clients use all connections.
func crowd(t *testing.T, w *world) {
	mountSecrets(t, w)
	for _, name := range []string{"pages-0", "pages-1"} {
		change(t, w, &corev1.Pod{}, name, func(pod *corev1.Pod) { pod.Spec.InitContainers[0].Args = pod.Spec.InitContainers[0].Args[:1] })
		w.agents[name], w.problems[name] = "memcached_up 1\n", " "
	}
	w.problems["pages-0"] = `{"reason":"ConnectionLimit","message":"raise spec.config.maxConnections"}`
}

// secureWithoutAgents makes the agent of pages-0 unreachable, and lets the agent of pages-1 serve no series.
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

// A response that does not come from an agent must not make the command fail.
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
