// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/traffic"
)

func TestStatus(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, "-m", "64")
	w.store(t, "pages-0", 3)
	got := w.run(t, "", "status", "pages", "--interval=10ms")
	if got.code != 0 || got.stderr != "" {
		t.Error(got)
	}
	contains(t, got.stdout, "shop/pages: 2 of 2 nodes ready, StatefulSet, AllNodesReady\n")
	for _, want := range []string{
		`(?m)^NODE +STATE +VERSION `, `(?m)^pages-0 +Ready +1\S+ +\S+ +3 +0.0Mi/64.0Mi `, `(?m)^TOTAL +1\S+ +\S+ +3 +0.0Mi/128.0Mi `,
	} {
		if !regexp.MustCompile(want).MatchString(got.stdout) {
			t.Errorf("%s is not in:\n%s", want, got.stdout)
		}
	}
	if strings.Contains(got.stdout, "PROBLEM") || strings.Contains(got.stdout, "CONDITION") {
		t.Errorf("a healthy cache:\n%s", got.stdout)
	}
	var document struct{ Items []cacheReport }
	must(t, json.Unmarshal([]byte(w.run(t, "", "status", "--interval=10ms", "--output=json").stdout), &document))
	report := document.Items[0]
	if len(report.Nodes) != 2 || report.Nodes[0].Figures.Stats["curr_items"] != 3 || report.Total.Stats["curr_items"] != 3 {
		t.Errorf("got %+v", report)
	}
}

// The hit ratio is that of the interval.
func TestHitRatioNow(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	w.store(t, "pages-0", 1)
	done := make(chan result)
	go func() { done <- w.runWithin(t.Context(), strings.NewReader(""), "status", "pages", "--interval=1s") }()
	conn := w.connect(t, "pages-0")
	for {
		select {
		case got := <-done:
			if !regexp.MustCompile(`(?m)^pages-0 .* (49|50).\d% +(49|50).\d% +0.0 (.*\n)*pages-1 .* 0.0 +- +- `).MatchString(got.stdout) {
				t.Error(got)
			}
			return
		default:
			_, _, err := traffic.Get(t.Context(), conn, "key-0", "missing")
			must(t, err)
		}
	}
}

// Nodes that do not answer and conditions have their rows. A cache of which no node answers makes the command fail.
func TestStatusOfProblems(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	change(t, w, &corev1.Pod{}, "pages-0", func(pod *corev1.Pod) {
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
		pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	})
	change(t, w, &cachev1alpha1.Memcached{}, "pages", func(mc *cachev1alpha1.Memcached) {
		mc.Status.Conditions[0] = conditionOf("Ready", "NodesFailing", "False", 1)
		mc.Status.Conditions[0].Message = "the pod crashes\033[2J"
		mc.Status.Conditions = append(mc.Status.Conditions, conditionOf("Progressing", "Outdated", "False", 1))
		mc.Status.Conditions[1].Message = "1 of 2 nodes have an older agent"
		mc.Status.Address, mc.Status.Proxies = "pages.shop.svc:11211", &cachev1alpha1.MemcachedProxiesStatus{Size: 3, Ready: 1, Nodes: 2}
	})
	evicted := newPod(newCache("pages", 2), "pages-1-evicted")
	evicted.Status.Phase = corev1.PodFailed
	must(t, w.client.Create(t.Context(), evicted))
	got := w.run(t, "", "status", "pages", "--interval=10ms")
	contains(t, got.stdout, "1 of 2 nodes ready, StatefulSet, NodesFailing",
		"\nAddress pages.shop.svc:11211: 1 of 3 proxies ready, which lead to 2 nodes\n", "memcached does not run: CrashLoopBackOff",
		"NodesFailing   the pod crashes^[[2J", "Outdated       1 of 2 nodes have an older agent")
	if strings.Contains(got.stdout, "evicted") || got.code != 0 {
		t.Error(got)
	}
	contains(t, w.run(t, "n\n", "flush", "pages").stderr,
		"pages-0: memcached does not run", "from 1 of 2 nodes")
	w.addresses["pages-1"] = "nowhere"
	got = w.run(t, "", "status", "--interval=10ms")
	if got.code != 1 || got.stderr != "error: shop/pages: no node answers\n" || !strings.Contains(got.stdout, "pages-1") {
		t.Error(got)
	}
}

// If the API server refuses a request, the error shows the missing permission.
func TestForbidden(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, pods := list.(*corev1.PodList); pods {
				return errors.New(`User "jane" cannot list this resource`)
			}
			return c.List(ctx, list, options...)
		},
	})
	for _, command := range []string{"status", "stats", "flush", "restart"} {
		if got := w.run(t, "", command, "pages"); got.code != 1 || got.stderr != "error: User \"jane\" cannot list this resource\n" {
			t.Errorf("%s: %+v", command, got)
		}
	}
}

func TestMistakes(t *testing.T) {
	w := &world{client: newWorld(t, interceptor.Funcs{}).client, printed: func() {}}
	for args, want := range map[string]string{
		"statsu":                    "unknown command",
		"status pages --frobnicate": "unknown flag",
		"status nothing":            `"nothing" not found`,
		"status --output=xml":       "can only be json",
		"status --interval=0":       "must be positive",
		"stats":                     "accepts between 1 and 2 arg(s)",
		"stats pages conns":         `unknown topic "conns"`,
		"stats pages --node=x":      "shop/pages has no node x",
		"flush pages --pace=-1s":    "must not be negative",
	} {
		if got := w.run(t, "", strings.Split(args, " ")...); got.code != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v, want %s", args, got, want)
		}
	}
}

func TestStats(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, "-m", "80")
	w.store(t, "pages-1", 2)
	got := w.run(t, "", "stats", "pages")
	if !regexp.MustCompile(`(?m)^curr_items +0 +2$`).MatchString(got.stdout) || !strings.HasPrefix(got.stdout, "STAT ") || got.code != 0 {
		t.Error(got)
	}
	got = w.run(t, "", "stats", "pages", "settings", "--node=pages-1")
	if !regexp.MustCompile(`(?m)^maxbytes +83886080$`).MatchString(got.stdout) || strings.Contains(got.stdout, "pages-0") {
		t.Error(got)
	}
	contains(t, w.run(t, "", "stats", "pages", "items", "--output=json").stdout, `"items:1:number": "2"`)
	w.addresses["pages-0"] = "nowhere"
	got = w.run(t, "", "stats", "pages")
	if got.code != 1 || !strings.Contains(got.stderr, "pages-0: ") || !strings.Contains(got.stdout, "curr_items") {
		t.Errorf("with a silent node: %+v", got)
	}
}

// A memcached with users answers only a user of the Secret. The password is never shown.
func TestUsers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users")
	must(t, os.WriteFile(file, []byte("web:hunter2\n"), 0o600))
	w := newWorld(t, interceptor.Funcs{}, "-Y", file)
	change(t, w, &cachev1alpha1.Memcached{}, "pages", func(mc *cachev1alpha1.Memcached) {
		mc.Spec.Auth = &cachev1alpha1.MemcachedAuth{SecretName: "users"}
	})
	contains(t, w.run(t, "", "stats", "pages", "--user=web").stderr, `secrets "users" not found`)
	must(t, w.client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "users"},
		Data:       map[string][]byte{"web": []byte("hunter2"), "old": []byte("hunter1")},
	}))
	for args, want := range map[string]string{
		"stats pages":                       loginDemanded,
		"stats pages --user=eve":            "the Secret users has no user eve",
		"stats pages --user=old":            "memcached refuses the user old",
		"stats pages --user=web":            "curr_items",
		"flush pages --user=web --yes":      "flushed pages-1",
		"status pages --interval=10ms":      loginDemanded, // exit code 0, because the nodes answer
		"status --interval=10ms --user=web": "2 of 2 nodes ready",
		"restart pages --yes":               "all items, at least 0, are lost",
		"restart pages --yes --user=web":    "all 0 items are lost",
	} {
		got := w.run(t, "", strings.Split(args, " ")...)
		if text := got.stdout + got.stderr; !strings.Contains(text, want) || strings.Contains(text, "hunter") {
			t.Errorf("%s: %+v, want %s", args, got, want)
		}
	}
	change(t, w, &corev1.Secret{}, "users", func(secret *corev1.Secret) {
		secret.Data = map[string][]byte{"username": []byte("web"), "password": []byte("hunter2")}
	})
	if got := w.run(t, "", "stats", "pages", "--user=web"); got.code != 0 {
		t.Errorf("a Secret of the type kubernetes.io/basic-auth: %+v", got)
	}
	// A memcached without users would store the password as a value.
	plain := newWorld(t, interceptor.Funcs{})
	w.addresses = plain.addresses
	if got := w.run(t, "", "stats", "pages", "--user=web"); got.code != 0 || plain.items(t) != [2]int64{} {
		t.Errorf("without users: %+v", got)
	}
}

func TestFlush(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	w.store(t, "pages-0", 2)
	w.store(t, "pages-1", 3)
	for _, answer := range []string{"", "\n", "no\n"} {
		got := w.run(t, answer, "flush", "pages")
		contains(t, got.stderr, "This deletes 5 items from 2 of 2 nodes of shop/pages", "Continue? [y/N]", "nothing was done")
		if got.code != 1 || w.items(t) != [2]int64{2, 3} {
			t.Errorf("%q: %+v", answer, got)
		}
	}
	got := w.run(t, "", "flush", "pages", "--node=pages-0", "--yes")
	if got.code != 0 || got.stdout != "flushed pages-0\n" || w.items(t) != [2]int64{0, 3} {
		t.Error(got)
	}
	began := time.Now()
	got = w.run(t, "y\n", "flush", "pages", "--pace=100ms")
	paced := time.Since(began) >= 100*time.Millisecond
	if got.code != 0 || got.stdout != "flushed pages-0\nflushed pages-1\n" || w.items(t) != [2]int64{} || !paced {
		t.Error(got)
	}
	change(t, w, &cachev1alpha1.Memcached{}, "pages", func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.FlushAll = ptr.To(false) })
	contains(t, w.run(t, "", "flush", "pages", "--yes").stderr, "spec.config.flushAll is false")
	refusing := newWorld(t, interceptor.Funcs{}, "-F")
	contains(t, refusing.run(t, "", "flush", "pages", "--yes").stderr, "pages-1: memcached replies")
}

// A flush that is interrupted between two nodes says which node has kept its items. An interrupted question changes nothing.
func TestInterrupts(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	w.store(t, "pages-0", 1)
	w.store(t, "pages-1", 1)
	ctx, interrupt := context.WithCancel(t.Context())
	w.printed = interrupt
	got := w.runWithin(ctx, strings.NewReader(""), "flush", "pages", "--yes", "--pace=1h")
	if got.code != 1 || got.stdout != "flushed pages-0\n" || !strings.Contains(got.stderr, "not flushed: pages-1") {
		t.Error(got)
	}
	ctx, interrupt = context.WithCancel(t.Context())
	nobody, pipe := io.Pipe()
	defer pipe.Close()
	time.AfterFunc(200*time.Millisecond, interrupt)
	if got := w.runWithin(ctx, nobody, "restart", "pages"); got.code != 1 || strings.Contains(got.stderr, "error") {
		t.Error(got)
	}
	if w.items(t) != [2]int64{0, 1} {
		t.Errorf("items: %v", w.items(t))
	}
}

func TestRestart(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	began := time.Now().Truncate(time.Second)
	got := w.run(t, "y\n", "restart", "pages")
	contains(t, got.stderr, "all 0 items are lost")
	if got.code != 0 || got.stdout != "restarting shop/pages\n" {
		t.Error(got)
	}
	first := w.pages(t).RestartedAt.Time
	if first.Before(began) || first.After(time.Now()) {
		t.Errorf("spec.restartedAt is %s", first)
	}
	// A second restart within the same second, or with a clock that is behind, needs another time.
	edit := func(edit func(*cachev1alpha1.Memcached)) { change(t, w, &cachev1alpha1.Memcached{}, "pages", edit) }
	edit(func(mc *cachev1alpha1.Memcached) { mc.Spec.RestartedAt.Time = first.Add(time.Hour) })
	w.run(t, "", "restart", "pages", "--yes")
	restarted := w.pages(t)
	if want := first.Add(time.Hour + time.Second); !restarted.RestartedAt.Time.Equal(want) {
		t.Errorf("spec.restartedAt is %s, want %s", restarted.RestartedAt, want)
	}
	contains(t, w.run(t, "y\n", "restart", "pages", "--replace").stderr, "This replaces the pods of the 2 nodes")
	replaced := w.pages(t)
	if at := replaced.ReplacedAt; at == nil || at.Time.Before(began) || !replaced.RestartedAt.Equal(restarted.RestartedAt) {
		t.Errorf("spec.replacedAt is %s, spec.restartedAt is %s", at, replaced.RestartedAt)
	}
	edit(func(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = cachev1alpha1.WorkloadDeployment })
	w.run(t, "", "restart", "pages", "--replace", "--yes")
	rolled := w.pages(t)
	if want := first.Add(time.Hour + 2*time.Second); !rolled.RestartedAt.Time.Equal(want) || !rolled.ReplacedAt.Equal(replaced.ReplacedAt) {
		t.Errorf("a Deployment: spec.restartedAt is %s, want %s", rolled.RestartedAt, want)
	}
	edit(func(mc *cachev1alpha1.Memcached) { mc.Spec.Paused = true })
	contains(t, w.run(t, "", "restart", "pages", "--yes").stderr, "spec.paused of shop/pages holds changes back")
}

func TestCompletion(t *testing.T) {
	w := &world{client: newWorld(t, interceptor.Funcs{}).client, printed: func() {}}
	for args, want := range map[string]string{
		"status ": "pages\n:4\n", "flush ": "pages\n:4\n", "restart pages ": ":4\n", "stats ": "pages\n:4\n",
		"stats pages ": "settings\nitems\nslabs\n:4\n",
	} {
		if got := w.run(t, "", append([]string{"__complete"}, strings.Split(args, " ")...)...); got.stdout != want {
			t.Errorf("%s: got %q, want %q", args, got.stdout, want)
		}
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
		"Terminating": {
			ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{ready}},
		},
	} {
		if got := stateOf(&pod); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// statsOf returns the statistics that figuresOf reads.
func statsOf(uptime, hits, misses, evictions string) map[string]string {
	return map[string]string{"version": "1.6.45", "uptime": uptime, "get_hits": hits, "get_misses": misses, "evictions": evictions, "pid": "7"}
}

func TestFigures(t *testing.T) {
	before := reading{stats: statsOf("100", "10", "10", "50"), items: map[string]string{
		"items:1:evicted": "3", "items:1:evicted_time": "1", "items:2:evicted": "3", "items:2:evicted_time": "60",
	}}
	evicted := map[string]string{
		"items:1:evicted": "3", "items:1:evicted_time": "1", "items:2:evicted": "4", "items:2:evicted_time": "60",
		"items:9:evicted": "1", "items:9:evicted_time": "70",
	}
	atOnce := map[string]string{"items:3:evicted": "1", "items:3:evicted_time": "0"}
	for name, test := range map[string]struct {
		after                 reading
		gets, hits, evictions string
		age                   int64
	}{
		"in the interval": {reading{statsOf("102", "16", "12", "90"), evicted}, "4.0", "75.0%", "20.0", 60},
		"without a get":   {reading{statsOf("102", "10", "10", "50"), before.items}, "0.0", "-", "0.0", 0},
		"evicted at once": {reading{statsOf("102", "10", "10", "50"), atOnce}, "0.0", "-", "0.0", 1},
		"restarted":       {reading{stats: statsOf("1", "4", "4", "4")}, "4.0", "50.0%", "2.0", 0},
		"no numbers":      {reading{stats: statsOf("soon", "", "many", "")}, "0.0", "-", "0.0", 0},
	} {
		f := figuresOf(before, test.after, 2*time.Second)
		cells := f.cells()
		if cells[4] != test.gets || cells[5] != test.hits || cells[7] != test.evictions || f.EvictedAgeSeconds != test.age {
			t.Errorf("%s: got %v and %d, want %+v", name, cells, f.EvictedAgeSeconds, test)
		}
	}
}

func TestTotal(t *testing.T) {
	node := func(state, version, uptime, hits string) nodeReport {
		f := figuresOf(reading{}, reading{stats: statsOf(uptime, hits, "1", "2")}, time.Second)
		f.Version = version
		return nodeReport{State: state, Figures: f}
	}
	if got := total([]nodeReport{{State: stateReady, Problem: "no answer"}}); got != nil {
		t.Errorf("the total of no answer is %+v", got)
	}
	got := total([]nodeReport{
		node(stateReady, "1.6.45", "90", "9"), node(stateReady, "1.6.46", "30", "2"), node(stateReady, "1.6.45", "60", "8"),
		node("Terminating", "1.6.44", "10", "80"),
		{State: stateReady, Problem: "no answer"},
	})
	want := []string{"1.6.45,1.6.46", "30s", "0", "0.0Mi/0.0Mi", "22.0", "86.4%", "86.4%", "6.0", "0"}
	if diff := cmp.Diff(want, got.cells()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A line asks for more memory if items are evicted that are still in use, or if many reads miss.
func TestAdvice(t *testing.T) {
	const hour, day = 3600, 86400
	const rate, hits = "1.0 items a second are evicted, ", " after their last use, and "
	for name, test := range map[string]struct {
		uptime, hits, misses, evictions, age int64
		want                                 string
	}{
		"no evictions":             {day, 50, 50, 0, 0, ""},
		"nobody reads":             {day, 0, 0, 10, 600, ""},
		"too early":                {600, 50, 50, 10, 600, ""},
		"old items, and many hits": {day, 95, 5, 10, 2 * hour, ""},
		"old items, but few hits":  {day, 50, 50, 10, 2 * hour, rate + "120m" + hits + "50.0% of the reads hit"},
		"many hits, but new items": {day, 95, 5, 10, 600, rate + "10m" + hits + "95.0% of the reads hit"},
	} {
		f := &figures{UptimeSeconds: test.uptime, IntervalSeconds: 10, EvictedAgeSeconds: test.age, Now: map[string]int64{
			"get_hits": test.hits, "get_misses": test.misses, "evictions": test.evictions,
		}}
		if got := f.advice(); !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
	if got := (*figures)(nil).advice(); got != "" {
		t.Errorf("without figures: %q", got)
	}
}

// Only conditions that tell of a problem or a change are shown, each reason once.
func TestProblems(t *testing.T) {
	for name, test := range map[string]struct{ conditions, want []string }{
		"healthy":  {[]string{"AllNodesReady", "AsExpected"}, nil},
		"crashing": {[]string{"NodesFailing", "NotReady", "NodesFailing"}, []string{"NodesFailing", "NotReady"}},
		"newer":    {[]string{"AllNodesReady", "Outdated", "AsExpected"}, []string{"Outdated"}},
	} {
		var conditions []metav1.Condition
		for _, reason := range test.conditions {
			conditions = append(conditions, metav1.Condition{Reason: reason})
		}
		var got []string
		for _, c := range problemsOf(conditions) {
			got = append(got, c.Reason)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

func TestUnreachable(t *testing.T) {
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for _, test := range []struct {
		err  error
		want string
	}{
		{errNoAnswer, "no answer in time"},
		{late.Err(), "no answer in time"},
		{errors.New("something else"), "something else"},
		{&memcache.RefusalError{Reply: "CLIENT_ERROR unauthenticated"}, loginDemanded},
		{fmt.Errorf("cache-0: %w", memcache.ErrConnectionLimit), "all connections are taken: raise spec.config.maxConnections"},
		{&memcache.RefusalError{Reply: "CLIENT_ERROR flush_all not allowed"}, `memcached replies "CLIENT_ERROR flush_all not allowed"`},
		{errors.New("error forwarding port 11211 to pod 0206, uid : failed"), "the kubelet cannot connect to it: the pod starts or ends"},
		{errors.New("dial tcp4 127.0.0.1:11211: connect: connection refused"), "nothing listens on its port"},
	} {
		if got := unreachable(test.err); got != test.want {
			t.Errorf("%v: got %s, want %s", test.err, got, test.want)
		}
	}
}

func TestRestartCost(t *testing.T) {
	source := func(mc *cachev1alpha1.Memcached) { mc.Spec.Copies = 2 }
	inFile := func(mc *cachev1alpha1.Memcached) { mc.Spec.Storage.Type = cachev1alpha1.StorageMemoryFile }
	for name, test := range map[string]struct {
		edit    func(*cachev1alpha1.Memcached)
		replace bool
		want    string
	}{
		"in memory": {
			func(*cachev1alpha1.Memcached) {}, false, "in the pods of the 2 nodes of shop/pages, one after the other: all 7 items are lost",
		},
		"Deployment":         {func(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = "" }, false, "replaces the pods of the 2 nodes of shop/pages"},
		"in a file":          {inFile, false, "all 7 items are kept"},
		"in a file, new pod": {inFile, true, "replaces the pods of the 2 nodes of shop/pages, one after the other: all 7 items are lost"},
		"filled":             {source, false, "all 7 items stay in another copy"},
		"filled, new pod":    {source, true, "replaces the pods of the 2 nodes of shop/pages, one after the other: all 7 items stay in another copy"},
	} {
		mc := newCache("pages", 2)
		test.edit(mc)
		if got := restartCost(mc, test.replace, 7, true); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %s", name, got)
		}
	}
	if got := restartCost(newCache("pages", 2), false, 7, false); !strings.Contains(got, "all items, at least 7, are lost") {
		t.Errorf("with a silent node: %s", got)
	}
}
