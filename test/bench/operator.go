// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

const (
	// each is the number of Memcacheds of each variant.
	each = 30
	// changed is the number of Memcacheds that undergo a change.
	changed = 4
	// fronts is the number of Memcacheds with a proxy.
	fronts = 10
	// rest is how long the operator is observed after a restart.
	rest = 20 * time.Second
	// pace is the time between two changes or creations. It keeps the load on the cluster low.
	pace = 500 * time.Millisecond
)

// The limits of the status writes until a Memcached is Ready, for the mean of all Memcacheds and for a single one, and after a change that
// completes within a short time.
const (
	meanStatuses   = 3 // created, in progress, Ready
	mostStatuses   = 4
	changeStatuses = 3
)

// otherImage differs from the default image only in its tag. It is never pulled, because the cluster nodes are simulated.
const otherImage = "docker.io/library/memcached:1.6.46"

type operation struct {
	name string
	do   func(ctx context.Context, t *testbed, i int) error
	// children limits the writes to the children of each Memcached after the operation. 0 means that the operation deletes it.
	children int
}

// variant is a kind of Memcached. The operations are applied to the same Memcacheds, in this order.
type variant struct {
	name       string
	edits      []edit
	operations []operation
}

var (
	imageChanged = operation{name: "image changed", children: 1, do: func(ctx context.Context, t *testbed, i int) error {
		return t.edit(ctx, i, func(mc *cachev1alpha1.Memcached) { mc.Spec.Image = otherImage })
	}}
	resized = operation{name: "size changed from 3 to 5", children: 1, do: func(ctx context.Context, t *testbed, i int) error {
		return t.edit(ctx, i, sized(5))
	}}
	// The StatefulSet changes, and the ConfigMap with its servers when a new node is ready.
	statefulSetResized = operation{name: resized.name, children: 3, do: resized.do}
	// Up to two writes may be refused, because the Deployment controller writes the status at the same moment.
	scaledUp   = operation{name: "scaled up by somebody else", children: 3, do: scaleTo(8)}
	scaledDown = operation{name: "scaled down by somebody else", children: 3, do: scaleTo(1)}
	deleted    = operation{name: "deleted", do: func(ctx context.Context, t *testbed, i int) error {
		return t.k8s.Delete(ctx, memcachedNumber(i))
	}}
)

var variants = []variant{
	{"Deployment", nil, []operation{imageChanged, resized, scaledUp, scaledDown, deleted}},
	{"StatefulSet", []edit{statefulSet}, []operation{statefulSetResized}},
}

func scaleTo(replicas int) func(context.Context, *testbed, int) error {
	return func(ctx context.Context, t *testbed, i int) error {
		mc := memcachedNumber(i)
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name}}
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
		return t.k8s.Patch(ctx, deployment, client.RawPatch(types.MergePatchType, patch))
	}
}

// requests counts what the operator sends to the API server until new Memcacheds are Ready, when it restarts, at rest, and after each
// kind of change.
func (b *bench) requests(ctx context.Context, t *testbed) {
	total := len(variants) * each
	t.createNamespaces(ctx, total)
	o := t.startOperator(ctx)
	ready := t.count(ctx, &cachev1alpha1.Memcached{}, isReady)
	for i, v := range variants {
		mark := t.log.mark()
		t.create(ctx, i*each, (i+1)*each, pace/2, itself(v.edits...))
		ready.waitFor(ctx, (i+1)*each)
		b.holdCreation(t.log.whenQuiet(ctx, mark, o.user), v)
	}
	t.addProxies(ctx)
	t.log.whenQuiet(ctx, 0, o.user)
	check(o.stop())

	all := fmt.Sprintf("%d resources, %d of them with a proxy", total, fronts)
	o = t.startOperator(ctx)
	pause(ctx, rest)
	requests := t.log.whenQuiet(ctx, 0, o.user)
	b.hold("restart over "+all, "writes", countIf(requests, request.isWrite), 0)
	b.hold("restart over "+all, "GETs", countIf(requests, request.isGet), 0)
	mark := t.log.mark()
	pause(ctx, rest)
	b.hold(fmt.Sprintf("%s of rest with %s", rest, all), "requests", countIf(t.log.since(mark, o.user), request.disturbsRest), 0)

	for i, v := range variants {
		for _, op := range v.operations {
			if op.children == 0 {
				total -= changed
			}
			b.operate(ctx, t, o, op, v.name+", "+op.name, i*each, func() { ready.waitFor(ctx, total) })
		}
	}
}

// holdCreation compares the writes to the children and to the status of new Memcacheds with the limits.
func (b *bench) holdCreation(requests []request, v variant) {
	children, statuses := writesPerMemcached(requests)
	sum, most := 0, 0
	for name := range statuses {
		writes := children[name] + statuses[name]
		sum, most = sum+writes, max(most, writes)
	}
	count := len(childrenOf(memcachedNumber(0, v.edits...)))
	name := fmt.Sprintf("%s with %d children created, ", v.name, count)
	b.hold(name+"mean", "writes", float64(sum)/each, float64(count)+meanStatuses)
	b.hold(name+"most", "writes", float64(most), float64(count)+mostStatuses)
}

// addProxies puts a proxy in front of each of the last StatefulSets, which do not change otherwise, and waits until all are ready.
func (t *testbed) addProxies(ctx context.Context) {
	ready := t.count(ctx, &cachev1alpha1.Memcached{}, func(object client.Object) bool {
		mc, ok := object.(*cachev1alpha1.Memcached)
		return ok && mc.Status.Proxies != nil && mc.Status.Proxies.Ready == 1
	})
	for i := 2*each - fronts; i < 2*each; i++ {
		check(t.edit(ctx, i, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Proxy = &cachev1alpha1.MemcachedProxy{Size: ptr.To[int32](1)}
		}))
		pause(ctx, pace/2)
	}
	ready.waitFor(ctx, fronts)
}

// operate applies the operation to Memcacheds from the number first on, and compares the writes that follow with the limits.
func (b *bench) operate(ctx context.Context, t *testbed, o *replica, op operation, name string, first int, untilReady func()) {
	mark := t.log.mark()
	for i := range changed {
		check(op.do(ctx, t, first+i))
		pause(ctx, pace)
	}
	// The quiet period may end before the operator notices all changes. So wait until the Memcacheds are Ready, too.
	t.log.whenQuiet(ctx, mark, o.user)
	untilReady()
	children, statuses := writesPerMemcached(t.log.whenQuiet(ctx, mark, o.user))
	if op.children > 0 {
		b.hold(name+", without a child write", "resources", float64(changed-len(children)), 0)
	}
	b.hold(name+", children, most", "writes", most(children), float64(op.children))
	b.hold(name+", status, most", "writes", most(statuses), changeStatuses)
}

func most(numbers map[string]int) float64 {
	return float64(slices.Max(slices.AppendSeq([]int{0}, maps.Values(numbers))))
}

// paced is the number of Memcacheds whose time to Ready is measured, and the number of sets of bare children.
const paced = 120

// ready measures how long Memcacheds take to become Ready, compared with bare children that become available. Bare children are the
// objects that the operator creates for a Memcached, but here without a Memcached. Both are created at a low pace, so that the cluster is
// not saturated. A cluster becomes slower as it fills. So half of the bare children are created before the Memcacheds, and half after them.
func (b *bench) ready(ctx context.Context, t *testbed) {
	t.createNamespaces(ctx, 2*paced)
	available := t.count(ctx, &appsv1.Deployment{}, isAvailable)
	ready := t.count(ctx, &cachev1alpha1.Memcached{}, isReady)
	bare := func(i int) []client.Object { return childrenOf(memcachedNumber(i)) }
	first := t.create(ctx, paced, paced+paced/2, pace, bare)
	available.waitFor(ctx, paced/2)
	o := t.startOperator(ctx)
	began := t.create(ctx, 0, paced, pace, itself())
	ready.waitFor(ctx, paced)
	check(o.stop())
	last := t.create(ctx, paced+paced/2, 2*paced, pace, bare)
	available.waitFor(ctx, 2*paced)

	ours, alone := ready.since(began), append(available.since(first), available.since(last)...)
	for _, limit := range []struct {
		percent int
		most    time.Duration
	}{{50, 150 * time.Millisecond}, {99, 500 * time.Millisecond}} {
		later := percentile(ours, limit.percent) - percentile(alone, limit.percent)
		name := fmt.Sprintf("Ready later than bare children are available, p%d", limit.percent)
		b.add(fmt.Sprintf("bare children until they are available, p%d", limit.percent), "ms", milliseconds(percentile(alone, limit.percent)))
		b.hold(name, "ms", milliseconds(later), milliseconds(limit.most))
	}
}

func isAvailable(object client.Object) bool {
	deployment, ok := object.(*appsv1.Deployment)
	return ok && deployment.Status.AvailableReplicas == size
}

const mebibyte = 1 << 20

// usualMany is the number of Memcacheds with which the operator's resources are measured.
const usualMany = 1000

// mostCPU limits the CPU time for each Memcached until it is Ready. mostBase and mostEach limit the memory in MiB: to 165 with 1,000
// Memcacheds, and to 480 with 10,000. The aims are 10 ms, and 150 MiB with 1,000 Memcacheds.
const (
	mostCPU  = 20 * time.Millisecond
	mostBase = 130
	mostEach = 0.035
)

// usage is the CPU time of all threads of a process, and its memory in MiB: in use, and in use at most so far.
type usage struct {
	cpu            time.Duration
	resident, peak float64
}

func usageOf(pid int) usage {
	process := must(procfs.NewProc(pid))
	status := must(process.NewStatus())
	return usage{
		cpu:      time.Duration(must(process.Stat()).CPUTime() * float64(time.Second)),
		resident: float64(status.VmRSS) / mebibyte,
		peak:     float64(status.VmHWM) / mebibyte,
	}
}

// resources measures the CPU time and the memory of the operator while many Memcacheds are created at once, and after a restart.
func (b *bench) resources(ctx context.Context, t *testbed) {
	t.createNamespaces(ctx, b.many)
	o := t.startOperator(ctx)
	pause(ctx, quietPeriod)
	none := usageOf(o.Pid())
	ready := t.count(ctx, &cachev1alpha1.Memcached{}, isReady)
	t.create(ctx, 0, b.many, 0, itself())
	ready.waitFor(ctx, b.many)
	t.log.whenQuiet(ctx, 0, o.user)
	created := usageOf(o.Pid())
	check(o.stop())
	o = t.startOperator(ctx)
	pause(ctx, rest+time.Duration(b.many)*mostCPU) // longer than the operator takes to reconcile all
	t.log.whenQuiet(ctx, 0, o.user)
	restarted := usageOf(o.Pid())

	per := func(cpu time.Duration) float64 { return milliseconds(cpu) / float64(b.many) }
	what := fmt.Sprintf("%d resources and their %d pods", b.many, b.many*size)
	b.hold("CPU for a resource from creation to Ready (aim 10)", "ms", per(created.cpu-none.cpu), milliseconds(mostCPU))
	b.add("CPU for a resource in a restart", "ms", per(restarted.cpu))
	b.add("memory without a resource", "MiB", none.resident)
	b.add("peak memory while "+what+" are created", "MiB", created.peak)
	b.hold("memory after a restart with "+what+" (aim 150)", "MiB", restarted.resident, mostBase+mostEach*float64(b.many))
}

// The limits of the time from the end of the leader until a standby writes.
const (
	afterTermination = 3 * time.Second
	// afterKill is 15 s, the duration of the lease, plus two pauses of 2.2 s, rounded up. The standby pauses for at most 2.2 s between two
	// attempts to acquire the lease. One pause may pass before it sees the leader's last renewal, and one after the lease has expired.
	afterKill = 20 * time.Second
)

// takeover ends the leader by SIGTERM, and the next leader by SIGKILL. It measures the time until a standby with synced caches writes.
// Meanwhile, a user changes the Memcacheds.
func (b *bench) takeover(ctx context.Context, t *testbed) {
	t.createNamespaces(ctx, each)
	leader := t.startOperator(ctx)
	ready := t.count(ctx, &cachev1alpha1.Memcached{}, isReady)
	t.create(ctx, 0, each, 0, itself())
	ready.waitFor(ctx, each)
	for _, end := range []struct {
		name   string
		signal syscall.Signal
		limit  time.Duration
	}{
		{"SIGTERM to the leader until its successor writes", syscall.SIGTERM, afterTermination},
		{"SIGKILL to the leader until its successor writes", syscall.SIGKILL, afterKill},
	} {
		standby := t.startOperator(ctx)
		took := t.replace(ctx, leader, standby, end.signal)
		b.hold(end.name, "s", took.Seconds(), end.limit.Seconds())
		leader = standby
	}
}

// replace ends the leader, and returns the time until the API server receives the first write of the standby. Meanwhile, it resizes the
// Memcacheds again and again, so that the standby must write.
func (t *testbed) replace(ctx context.Context, leader, standby *replica, signal syscall.Signal) time.Duration {
	t.log.whenQuiet(ctx, 0, leader.user)
	began := time.Now()
	leader.signal(signal)
	for i := 0; ; i++ {
		check(t.edit(ctx, i%each, sized(size+1+(i/each+len(t.operators))%4)))
		for _, one := range t.log.since(0, standby.user) {
			if one.isWrite() {
				<-leader.Done()
				return one.RequestReceivedTimestamp.Sub(began)
			}
		}
		pause(ctx, pace/10)
	}
}
