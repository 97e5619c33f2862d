// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcache"
)

func metaNamed(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func TestNaturally(t *testing.T) {
	want := []string{"", "a", "cache-0", "cache-2", "cache-10", "cache-10a", "items:1:number", "items:2:age", "items:12:age", "z"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, naturally)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sorted (-want +got):\n%s", diff)
	}
	if naturally("a01", "a1") != 0 && naturally("a01", "a1") == naturally("a1", "a01") {
		t.Error("the order is no order")
	}
}

func TestStateOf(t *testing.T) {
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
	waiting := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}
	for want, pod := range map[string]corev1.Pod{
		"Ready":            {Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{ready}}},
		"NotReady":         {Status: corev1.PodStatus{Phase: corev1.PodRunning}},
		"Pending":          {},
		"ImagePullBackOff": {Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{waiting}}},
		"Evicted":          {Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}},
		"Failed":           {Status: corev1.PodStatus{Phase: corev1.PodFailed}},
		"Unschedulable": {Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable"},
		}}},
		"Terminating": {
			ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: now}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{ready}},
		},
	} {
		if got := stateOf(&pod); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestRates(t *testing.T) {
	before := figures{UptimeSeconds: 100, Evictions: 50, Hits: 10, Misses: 10}
	average := func(f figures) figures {
		f.GetsPerSecond, f.EvictionsPerSecond = ptr.To(0.1), ptr.To(0.5)
		return f
	}
	for name, test := range map[string]struct {
		after                 figures
		interval              time.Duration
		gets, evictions, hits string
	}{
		"of the interval":     {figures{UptimeSeconds: 102, Evictions: 90, Hits: 16, Misses: 12}, 2 * time.Second, "4.0", "20.0", "75.0%"},
		"without a get":       {figures{UptimeSeconds: 102, Evictions: 90, Hits: 10, Misses: 10}, 2 * time.Second, "0.0", "20.0", "-"},
		"no interval":         {figures{UptimeSeconds: 100, Evictions: 50, Hits: 10, Misses: 10}, 0, "0.1", "0.5", "-"},
		"restarted":           {figures{UptimeSeconds: 1, Evictions: 60, Hits: 20, Misses: 20}, 2 * time.Second, "0.1", "0.5", "-"},
		"evictions reset":     {figures{UptimeSeconds: 102, Evictions: 1, Hits: 10, Misses: 10}, 2 * time.Second, "0.1", "0.5", "-"},
		"gets and hits reset": {figures{UptimeSeconds: 102, Evictions: 50, Hits: 1, Misses: 1}, 2 * time.Second, "0.1", "0.5", "-"},
	} {
		f := withRates(average(test.after), before, test.interval)
		if gets, evictions, hits := perSecond(f.GetsPerSecond), perSecond(f.EvictionsPerSecond), percent(f.HitRatioNow); gets != test.gets ||
			evictions != test.evictions || hits != test.hits {
			t.Errorf("%s: got %s gets/s, %s evictions/s and %s, want %+v", name, gets, evictions, hits, test)
		}
	}
}

func TestTotal(t *testing.T) {
	if got := total([]nodeReport{{State: stateReady, Problem: "no answer"}}); got != nil {
		t.Errorf("the total of no answer is %+v", got)
	}
	node := func(state string, f figures) nodeReport { return nodeReport{State: state, Figures: &f} }
	got := total([]nodeReport{
		node(stateReady, figures{Version: "1.6.45", UptimeSeconds: 90, Items: 1, Hits: 9, Misses: 1, EvictionsPerSecond: ptr.To(0.5), hitsNow: 3}),
		{State: stateReady, Problem: "no answer"},
		node(stateReady, figures{Version: "1.6.46", UptimeSeconds: 30, Items: 2, Hits: 1, Misses: 9, EvictionsPerSecond: ptr.To(1.5), missesNow: 1}),
		node(stateReady, figures{Version: "1.6.45", UptimeSeconds: 60, Items: 4, GetsPerSecond: ptr.To(7.0)}),
		node(stateTerminating, figures{Version: "1.6.44", UptimeSeconds: 10, Items: 8, Connections: 1}),
		node(stateNotReady, figures{Version: "1.6.44", UptimeSeconds: 10, Items: 8, Connections: 1}),
	})
	for name, pair := range map[string][2]string{
		"version": {got.Version, "1.6.45,1.6.46"}, "hit ratio": {percent(got.HitRatio), "50.0%"}, "hit ratio now": {percent(got.HitRatioNow), "75.0%"},
		"gets": {perSecond(got.GetsPerSecond), "7.0"}, "evictions": {perSecond(got.EvictionsPerSecond), "2.0"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %s, want %s", name, pair[0], pair[1])
		}
	}
	if got.UptimeSeconds != 30 || got.Items != 7 || got.Connections != 0 {
		t.Errorf("total: %+v", got)
	}
}

func TestFiguresWithoutNumbers(t *testing.T) {
	got := figuresOf(map[string]string{"version": "1.6.45", "uptime": "soon"})
	if (got != figures{Version: "1.6.45"}) {
		t.Errorf("got %+v", got)
	}
}

func TestExpiryTime(t *testing.T) {
	for expiry, want := range map[time.Duration]int64{
		0: 0, time.Minute: 60, 30 * 24 * time.Hour: 2592000, 31 * 24 * time.Hour: now.Unix() + 2678400,
	} {
		if got := expiryTime(expiry, now); got != want {
			t.Errorf("%s: got %d, want %d", expiry, got, want)
		}
	}
}

// docs/clients.md documents these shares.
func TestKeptShare(t *testing.T) {
	for _, test := range []struct {
		workload cachev1alpha1.WorkloadKind
		nodes    int
		percent  int
	}{
		{cachev1alpha1.WorkloadDeployment, 3, 44},
		{cachev1alpha1.WorkloadDeployment, 4, 56},
		{cachev1alpha1.WorkloadStatefulSet, 3, 67},
		{cachev1alpha1.WorkloadStatefulSet, 4, 75},
	} {
		if got := int(keptShare(test.workload, test.nodes)*100 + 0.5); got != test.percent {
			t.Errorf("%s of %d nodes: %d %%, want %d %%", test.workload, test.nodes, got, test.percent)
		}
	}
}

func TestRedactLog(t *testing.T) {
	const quiet = "slab class   1: chunk size        96 perslab   10922\nFailed to write, and not due to blocking: Broken pipe\n"
	for log, want := range map[string]string{
		"":    "",
		quiet: quiet,
		quiet + "<28 new auto-negotiating client connection\n28: Client using the ascii protocol\n" +
			"<28 get user:42\n> FOUND KEY us\ner:42\n": "(left out: memcached has logged requests, in 4 lines, and with them keys)\n",
	} {
		var got bytes.Buffer
		if err := redactLog(&got, strings.NewReader(log)); err != nil {
			t.Fatal(err)
		}
		if got.String() != want {
			t.Errorf("%q: got %q, want %q", log, got.String(), want)
		}
	}
}

// redact must remove what other programs or users have added to child objects, because it may be confidential.
func TestRedactTemplates(t *testing.T) {
	template := func() (template corev1.PodTemplateSpec) {
		template.Annotations = map[string]string{"example.com/token": "secret", "cache.example.com/x": "1", "kubectl.kubernetes.io/restartedAt": "now"}
		template.Spec.InitContainers = []corev1.Container{{Name: "memcached-agent", Args: []string{"--tls"}}, {
			Name: "wait", Args: []string{"secret"},
			LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"secret"}}}},
			Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{
				HTTPHeaders: []corev1.HTTPHeader{{Name: "Authorization", Value: "secret"}},
			}}},
		}}
		template.Spec.EphemeralContainers = []corev1.EphemeralContainer{
			{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Command: []string{"secret"}}},
		}
		return template
	}
	for _, object := range []client.Object{
		&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: template()}}, &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: template()}},
		&appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Template: template()}},
	} {
		object.SetAnnotations(map[string]string{"example.com/token": "secret", "deployment.kubernetes.io/revision": "3"})
		redact(object)
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "secret") {
			t.Errorf("%s", text)
		}
		for _, kept := range []string{`"cache.example.com/x":"1"`, `"kubectl.kubernetes.io/restartedAt":"now"`, `revision":"3"`, `["--tls"]`} {
			if !strings.Contains(string(text), kept) {
				t.Errorf("%s is missing: %s", kept, text)
			}
		}
	}
}

// A value that a client has stored must not disturb the terminal of a user.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain, ä, 日本": "plain, ä, 日本", "\x1b[31m\u009b": "?[31m?", "a\u202eb\u2066c\u200fd\u061ce": "a?b?c?d?e", "a\u2028b\u2029c": "a?b?c",
	} {
		if got := printable(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestTableAlignsWithColors(t *testing.T) {
	rows := [][]cell{{text("NODE"), text("STATE")}, {text("zürich\t1"), {"Ready", green}}, {text("b"), {"Failed\033[2J", red}}}
	for colored, want := range map[bool]string{
		false: "NODE       STATE\nzürich?1   Ready\nb          Failed?[2J\n",
		true:  "NODE       STATE\nzürich?1   \033[32mReady\033[0m\nb          \033[31mFailed?[2J\033[0m\n",
	} {
		var got strings.Builder
		writeTable(&got, colored, rows)
		if got.String() != want {
			t.Errorf("colored %t: got %q, want %q", colored, got.String(), want)
		}
	}
}

func TestExplain(t *testing.T) {
	missing := &apimeta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "cache.example.com", Kind: "Memcached"}}
	if got := explain(missing); !strings.Contains(got, "install the operator") {
		t.Errorf("got %s", got)
	}
}

// buffered is a stream whose peer has already sent all data.
type buffered struct {
	io.Reader
	io.Writer
}

type nothingToClose struct{}

func (nothingToClose) Close() error { return nil }

// A read from a forwarded connection returns the error that the kubelet reports.
func TestForwardedConnections(t *testing.T) {
	connection := func(data, failure string) net.Conn {
		conn := newForwarded(nothingToClose{}, buffered{strings.NewReader(data), io.Discard}, buffered{Reader: strings.NewReader(failure)})
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	if got, err := io.ReadAll(connection("OK\r\n", "")); string(got) != "OK\r\n" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	const reason = "dial tcp4 127.0.0.1:11211: connect: connection refused"
	_, err := io.ReadAll(connection("", reason+"\n"))
	if err == nil || err.Error() != reason || unreachable(err) != "nothing listens on its port" {
		t.Errorf("got %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	for want, err := range map[string]error{
		"no answer in time":               errNoAnswer,
		"the connection was closed":       io.EOF,
		"something else":                  errors.New("something else"),
		"memcached does not run: Unknown": &notRunningError{"Unknown"},
		errAuthentication.Error():         errAuthentication,
		"no answer in time ":              nil,
		"all connections are taken: raise spec.config.maxConnections":                                                          fmt.Errorf("cache-0: %w", memcache.ErrConnectionLimit),
		"the kubelet cannot connect to it: the pod starts or ends":                                                             errors.New("error forwarding port 11211 to pod 0206, uid : failed"),
		"memcached refuses the user web with this password: it may not have read the Secret yet, see kubectl memcached status": &deniedError{"web"},
	} {
		if err == nil {
			ctx, cancel := context.WithTimeout(t.Context(), 0)
			cancel()
			err, want = ctx.Err(), strings.TrimSpace(want)
		}
		if got := unreachable(err); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
