// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/manifests"
)

// asManager is an environment variable. It makes this test binary run as the manager, in a process with its own environment,
// signals and exit code.
const asManager = "RUN_AS_MANAGER"

func TestMain(m *testing.M) {
	if os.Getenv(asManager) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type manager struct {
	*exec.Cmd
	mutex sync.Mutex
	log   bytes.Buffer
}

// Write collects the output of the manager.
func (m *manager) Write(p []byte) (int, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.log.Write(p)
}

func (m *manager) output() string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.log.String()
}

// command prepares a manager that inherits nothing from the environment of the test.
func command(t *testing.T, env []string, args ...string) *manager {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := &manager{Cmd: exec.CommandContext(t.Context(), self, args...)}
	m.Env = append([]string{asManager + "=1", "HOME=" + t.TempDir()}, env...)
	m.Stdout, m.Stderr = m, m
	return m
}

const image = imageVariable + "=docker.io/library/memcached:1.6.45"

func TestBadOptionsAreRefusedInOneSentence(t *testing.T) {
	for _, test := range []struct {
		name string
		env  []string
		args []string
		want string
	}{
		{name: "no image", want: "RELATED_IMAGE_MEMCACHED must hold the default memcached image, such as docker.io/library/memcached:1.6.45"},
		{name: "not an image", env: []string{imageVariable + "=Not an image"}, want: `RELATED_IMAGE_MEMCACHED holds "Not an image", which is not the name of an image`},
		{name: "not an image of the agent", env: []string{image, "RELATED_IMAGE_MEMCACHED_AGENT=Not an image"}, want: `RELATED_IMAGE_MEMCACHED_AGENT holds "Not an image", which is not the name of an image`},
		{name: "several namespaces", env: []string{image, namespaceVariable + "=shop,blog"}, want: `WATCH_NAMESPACE holds "shop,blog", but must name one namespace, or none for all`},
		{name: "no worker", env: []string{image}, args: []string{"--max-concurrent-reconciles=0"}, want: "--max-concurrent-reconciles is 0, but must be at least 1"},
		{name: "unknown flag", env: []string{image}, args: []string{"--nonsense"}, want: "flag provided but not defined: -nonsense"},
		{name: "nonsense for the user", env: []string{image}, args: []string{"--omit-run-as-user=maybe"}, want: `--omit-run-as-user or OMIT_RUN_AS_USER is "maybe", but must be auto, true or false`},
		{name: "nonsense for the user in the environment", env: []string{image, "OMIT_RUN_AS_USER=maybe"}, want: `OMIT_RUN_AS_USER is "maybe", but must be auto, true or false`},
		{name: "a value without an equals sign", env: []string{image}, args: []string{"--leader-elect", "false"}, want: `unexpected argument "false": write flags as --name=value`},
		{name: "no cluster", env: []string{image}, want: "find the cluster"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := command(t, test.env, test.args...)
			if err := m.Run(); err == nil {
				t.Error("exited with 0")
			}
			if !strings.Contains(m.output(), test.want) {
				t.Errorf("got:\n%s\nwant a sentence with %q", m.output(), test.want)
			}
			if strings.Contains(m.output(), "goroutine") {
				t.Errorf("panicked:\n%s", m.output())
			}
		})
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// insecure accepts every certificate, and uses HTTP/2 if the server offers it.
var insecure = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
	TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
	ForceAttemptHTTP2: true,
}}

func get(t *testing.T, url, token string) (int, string, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := insecure.Do(request)
	if err != nil {
		return 0, "", err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Proto, string(body)
}

// statusOf returns a function that asks a URL for its HTTP status.
func statusOf(t *testing.T, url string) func() int {
	return func() int { code, _, _ := get(t, url, ""); return code }
}

// installation is an API server in which config/default or a part of it is installed.
type installation struct{ *manifests.Installation }

func install(t *testing.T) installation {
	t.Helper()
	i := installation{manifests.Start(t)}
	i.Apply(t, kustomize.Render(t, "config/default"))
	return i
}

// TestManager runs the manager with the flags and the permissions of config/default.
func TestManager(t *testing.T) {
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(time.Minute)
	installation := install(t)
	metricsAddress, probeAddress := freeAddress(t), freeAddress(t)
	m := command(t, []string{image, "KUBECONFIG=" + installation.Kubeconfig(t, manifests.Account)},
		"--leader-elect", "--leader-election-namespace="+manifests.Namespace,
		"--metrics-bind-address="+metricsAddress, "--health-probe-bind-address="+probeAddress)
	g.Expect(m.Start()).To(Succeed())

	g.Eventually(statusOf(t, "http://"+probeAddress+"/healthz")).Should(Equal(http.StatusOK), m.output)
	g.Eventually(statusOf(t, "http://"+probeAddress+"/readyz")).Should(Equal(http.StatusOK), m.output)

	t.Run("reconciles with no more permissions than it is given", func(t *testing.T) {
		g := NewWithT(t)
		mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cache"}}
		g.Expect(installation.Admin.Create(t.Context(), mc)).To(Succeed())
		g.Eventually(installation.Conditions(t, mc), "60s").
			Should(ContainElement(And(HaveField("Type", "Degraded"), HaveField("Reason", "AsExpected"))), m.output)
		foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "taken-nodes"}}
		foreign.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		g.Expect(installation.Admin.Create(t.Context(), foreign)).To(Succeed())
		taken := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "taken"}}
		g.Expect(installation.Admin.Create(t.Context(), taken)).To(Succeed())
		g.Eventually(func() []eventsv1.Event {
			events := &eventsv1.EventList{}
			g.Expect(installation.Admin.List(t.Context(), events, client.InNamespace("default"))).To(Succeed())
			return events.Items
		}, "60s").Should(ContainElement(And(HaveField("Reason", "Conflict"), HaveField("Regarding.Name", "taken"))), m.output)
		mc.Spec.PodDisruptionBudget.Enabled = new(false)
		g.Expect(installation.Admin.Update(t.Context(), mc)).To(Succeed())
		budget := &unstructured.Unstructured{}
		budget.SetAPIVersion("policy/v1")
		budget.SetKind("PodDisruptionBudget")
		g.Eventually(func() error {
			return installation.Admin.Get(t.Context(), client.ObjectKeyFromObject(mc), budget)
		}, "60s").ShouldNot(Succeed())
		g.Expect(m.output()).NotTo(ContainSubstring("forbidden"))
	})

	t.Run("serves metrics over TLS to whom the cluster allows it", func(t *testing.T) {
		g := NewWithT(t)
		url := "https://" + metricsAddress + "/metrics"
		anonymous, protocol, _ := get(t, url, "")
		g.Expect(anonymous).To(Equal(http.StatusUnauthorized))
		g.Expect(protocol).To(Equal("HTTP/1.1"), "HTTP/2 must be off")
		stranger, _, _ := get(t, url, installation.Token(t, "stranger"))
		g.Expect(stranger).To(Equal(http.StatusForbidden))

		allowed, _, body := get(t, url, installation.TokenOfMetricsReader(t))
		g.Expect(allowed).To(Equal(http.StatusOK))
		g.Expect(body).To(ContainSubstring("memcached_operator_reconciles_total"))
		g.Expect(body).To(ContainSubstring(`memcached_operator_memcached_condition{condition="Degraded",name="cache",namespace="default",status="False"} 1`))
		old := insecure.Transport.(*http.Transport).TLSClientConfig.Clone()
		old.MaxVersion = tls.VersionTLS12
		_, err := (&tls.Dialer{Config: old}).DialContext(t.Context(), "tcp", metricsAddress)
		g.Expect(err).To(MatchError(ContainSubstring("protocol version not supported")))
		plain, _, _ := get(t, "http://"+metricsAddress+"/metrics", "")
		g.Expect(plain).NotTo(Equal(http.StatusOK))
	})

	t.Run("is alive and not ready while its watches do not get through, and ends when it is told to", func(t *testing.T) {
		g := NewWithT(t)
		address := freeAddress(t)
		blind := command(t, []string{image, "KUBECONFIG=" + installation.Kubeconfig(t, "blind")}, "--health-probe-bind-address="+address)
		g.Expect(blind.Start()).To(Succeed())
		g.Eventually(statusOf(t, "http://"+address+"/healthz"), "60s").Should(Equal(http.StatusOK), blind.output)
		g.Eventually(blind.output, "60s").Should(ContainSubstring("forbidden"))
		g.Expect(statusOf(t, "http://"+address+"/readyz")()).To(Equal(http.StatusInternalServerError))
		g.Eventually(blind.output, "60s").Should(ContainSubstring("has not delivered what exists"), "the log names the watch")
		g.Expect(blind.Process.Signal(syscall.SIGTERM)).To(Succeed())
		ended := make(chan error, 1)
		go func() { ended <- blind.Wait() }()
		g.Eventually(ended, "60s").Should(Receive(), blind.output)
	})

	t.Run("gives the lease back when it is told to stop, to a standby that watches one namespace", func(t *testing.T) {
		g := NewWithT(t)
		address := freeAddress(t)
		standby := command(t, []string{image, namespaceVariable + "=default", "KUBECONFIG=" + installation.Kubeconfig(t, manifests.Account)},
			"--leader-elect", "--leader-election-namespace="+manifests.Namespace, "--health-probe-bind-address="+address)
		g.Expect(standby.Start()).To(Succeed())
		g.Eventually(statusOf(t, "http://"+address+"/readyz"), "60s").Should(Equal(http.StatusOK), standby.output)
		holder := installation.Leader(t, leaderElectionID)
		g.Expect(holder).NotTo(BeEmpty())

		g.Expect(m.Process.Signal(syscall.SIGTERM)).To(Succeed())
		g.Expect(m.Wait()).To(Succeed(), m.output)
		g.Eventually(func() string { return installation.Leader(t, leaderElectionID) }, "60s").ShouldNot(Or(BeEmpty(), Equal(holder)))

		elsewhere := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: manifests.Namespace, Name: "elsewhere"}}
		here := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "here"}}
		g.Expect(installation.Admin.Create(t.Context(), elsewhere)).To(Succeed())
		g.Expect(installation.Admin.Create(t.Context(), here)).To(Succeed())
		g.Eventually(installation.Conditions(t, here), "60s").ShouldNot(BeEmpty(), standby.output)
		g.Expect(installation.Conditions(t, elsewhere)()).To(BeEmpty())
		g.Expect(standby.Process.Signal(syscall.SIGTERM)).To(Succeed())
		g.Expect(standby.Wait()).To(Succeed(), standby.output)
		g.Expect(installation.Leader(t, leaderElectionID)).To(BeEmpty())
	})

	t.Run("logs JSON", func(t *testing.T) {
		lines := bufio.NewScanner(strings.NewReader(m.output()))
		count := 0
		for lines.Scan() {
			count++
			if !json.Valid(lines.Bytes()) {
				t.Errorf("not JSON: %s", lines.Text())
			}
		}
		if count == 0 {
			t.Error("nothing was logged")
		}
	})
}
