// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcache"
)

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
