// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/test/apiclient"
	"github.com/example/memcached-operator/test/operator"
	"github.com/example/memcached-operator/test/simulated"
)

const (
	// measured is a group of users. All requests of these users are in the audit log.
	measured = "measured"
	// serviceAccounts is a group of the measured users. With it, API priority and fairness treats their requests like those of an
	// operator in a pod.
	serviceAccounts = "system:serviceaccounts"
)

const (
	clusterNodes = 20
	// size is the number of nodes of each Memcached.
	size = 3
	// perNamespace is the number of Memcacheds in a namespace. With thousands of them in one namespace, the controllers of Kubernetes
	// would be slow.
	perNamespace = 50
	// writers is how many requests the benchmark sends at the same time to create objects, at most.
	writers = 16
	// startDeadline limits the time until the operator has started and its caches are synced.
	startDeadline = 5 * time.Minute
)

//go:embed audit-policy.yaml
var auditPolicy []byte

// testbed is a cluster with everything that the operator needs, but without the operator.
type testbed struct {
	cluster *simulated.Cluster
	k8s     client.WithWatch
	cache   cache.Cache
	log     *auditLog
	// operators are all operators that were started, including those that have ended.
	operators []*replica
	// fail ends the measurement with an error.
	fail context.CancelCauseFunc
}

// onTestbed runs a measurement on a new testbed. It fails when a component of the cluster or an operator exits unexpectedly.
func onTestbed(measure func(*bench, context.Context, *testbed)) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		ctx, cancel := context.WithCancelCause(ctx)
		t := &testbed{fail: cancel}
		t.cluster = must(simulated.Start(ctx, simulated.Options{
			BinaryDir: "bin/kubernetes", Nodes: clusterNodes, Prepare: t.prepare, AuditPolicy: auditPolicy,
		}))
		t.log = &auditLog{path: t.cluster.AuditLog()}
		t.cache = must(cache.New(t.cluster.Config, cache.Options{Scheme: t.k8s.Scheme()}))
		go func() { _ = t.cache.Start(ctx) }() // it ends with the context
		go func() {
			select {
			case err := <-t.cluster.Failed():
				cancel(err)
			case <-ctx.Done():
			}
		}()
		err := attempt(func() { measure(b, ctx, t) })
		cancel(nil)
		for _, o := range t.operators {
			err = errors.Join(err, o.stop())
		}
		check(errors.Join(err, t.cluster.Stop()))
	}
}

// prepare installs the operator, without its process, as soon as the API server is ready.
func (t *testbed) prepare(ctx context.Context, cluster *simulated.Cluster) error {
	if _, err := operator.Install(ctx, cluster, measured); err != nil {
		return err
	}
	var err error
	t.k8s, err = apiclient.New(cluster.Config)
	return err
}

// replica is a process of the operator that has its own user name.
type replica struct {
	*operator.Operator

	user string
	// stopping means that the benchmark ends the operator, so its exit is no failure.
	stopping atomic.Bool
}

// startOperator starts the operator, and waits until its caches are synced. The operator ends with the testbed.
func (t *testbed) startOperator(ctx context.Context) *replica {
	o := &replica{user: fmt.Sprintf("operator-%d", len(t.operators)+1)}
	kubeconfig := must(t.cluster.KubeconfigFile(o.user, measured, serviceAccounts))
	o.Operator = must(operator.Start(t.cluster, kubeconfig, o.user))
	t.operators = append(t.operators, o)
	go func() {
		if err := o.Err(); !o.stopping.Load() {
			t.fail(err)
		}
	}()
	check(o.UntilReady(ctx, startDeadline))
	return o
}

// stop ends the operator like the kubelet ends a container.
func (o *replica) stop() error {
	o.stopping.Store(true)
	return o.Stop()
}

func (o *replica) signal(signal syscall.Signal) {
	o.stopping.Store(true)
	check(syscall.Kill(o.Pid(), signal))
}

// edit changes a Memcached.
type edit = func(*cachev1alpha1.Memcached)

// memcachedNumber returns the Memcached with the number i. Apart from the edits, it has the smallest possible spec.
func memcachedNumber(i int, edits ...edit) *cachev1alpha1.Memcached {
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(i), Name: fmt.Sprintf("cache-%05d", i)},
		Spec:       cachev1alpha1.MemcachedSpec{Size: size},
	}
	for _, edit := range edits {
		edit(mc)
	}
	return mc
}

func namespaceOf(i int) string { return fmt.Sprintf("caches-%03d", i/perNamespace) }

func statefulSet(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = cachev1alpha1.WorkloadStatefulSet }

// childrenOf returns the children that the operator would create for a Memcached, without owner references.
func childrenOf(mc *cachev1alpha1.Memcached) []client.Object {
	options := memcached.Options{DefaultImage: must(operator.DefaultImage()), AgentImage: "agent"}
	plan := desired.For(memcached.NewView(mc, memcached.Observed{}, time.Now()), options)
	if plan.Problem != nil {
		check(errors.New(plan.Problem.Message))
	}
	for _, child := range plan.Objects {
		child.SetNamespace(mc.Namespace)
	}
	return plan.Objects
}

// createNamespaces creates the namespaces of n Memcacheds. It waits for the default service accounts, which pods need.
func (t *testbed) createNamespaces(ctx context.Context, n int) {
	count := (n + perNamespace - 1) / perNamespace
	accounts := t.count(ctx, &corev1.ServiceAccount{}, func(account client.Object) bool {
		return account.GetName() == "default" && strings.HasPrefix(account.GetNamespace(), "caches-")
	})
	t.create(ctx, 0, count, 0, func(i int) []client.Object {
		return []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(i * perNamespace)}}}
	})
	accounts.waitFor(ctx, count)
}

// create creates the objects with the numbers from first to end-1 at this pace, those of one number at once. It does not wait for slow
// requests, unless there are many. It returns when each creation began.
func (t *testbed) create(
	ctx context.Context, first, end int, pace time.Duration, objects func(i int) []client.Object,
) map[types.NamespacedName]time.Time {
	began := map[types.NamespacedName]time.Time{}
	var group errgroup.Group
	group.SetLimit(writers)
	for i := first; i < end; i++ {
		all := objects(i)
		began[client.ObjectKeyFromObject(all[0])] = time.Now()
		for _, object := range all {
			group.Go(func() error { return t.k8s.Create(ctx, object) })
		}
		pause(ctx, pace)
	}
	check(group.Wait())
	return began
}

func itself(edits ...edit) func(int) []client.Object {
	return func(i int) []client.Object { return []client.Object{memcachedNumber(i, edits...)} }
}

func isReady(object client.Object) bool {
	mc, ok := object.(*cachev1alpha1.Memcached)
	return ok && mc.Status.ObservedGeneration == mc.Generation &&
		meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionReady)
}

// edit changes the Memcached with the number i without reading it first.
func (t *testbed) edit(ctx context.Context, i int, edit edit) error {
	before := &cachev1alpha1.Memcached{ObjectMeta: memcachedNumber(i).ObjectMeta}
	after := before.DeepCopy()
	edit(after)
	return t.k8s.Patch(ctx, after, client.MergeFrom(before))
}

func sized(size int) edit {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = int32(size) }
}

// counter watches all objects of a kind, and counts those that match.
type counter struct {
	matches func(client.Object) bool

	mutex    sync.Mutex
	matching map[types.UID]bool
	// first maps each object to the time when it matched for the first time.
	first map[types.NamespacedName]time.Time
}

func (t *testbed) count(ctx context.Context, kind client.Object, matches func(client.Object) bool) *counter {
	c := &counter{matches: matches, matching: map[types.UID]bool{}, first: map[types.NamespacedName]time.Time{}}
	must(must(t.cache.GetInformer(ctx, kind)).AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { c.handle(object, true) },
		UpdateFunc: func(_, object any) { c.handle(object, true) },
		DeleteFunc: func(object any) { c.handle(object, false) },
	}))
	return c
}

func (c *counter) handle(value any, exists bool) {
	if last, ok := value.(toolscache.DeletedFinalStateUnknown); ok {
		value = last.Obj
	}
	object := value.(client.Object)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !exists || !c.matches(object) {
		delete(c.matching, object.GetUID())
		return
	}
	c.matching[object.GetUID()] = true
	if name := client.ObjectKeyFromObject(object); c.first[name].IsZero() {
		c.first[name] = time.Now()
	}
}

// waitFor waits until exactly n objects match.
func (c *counter) waitFor(ctx context.Context, n int) {
	for now := -1; now != n; {
		if ctx.Err() != nil {
			check(fmt.Errorf("%d objects match, want %d: %w", now, n, context.Cause(ctx)))
		}
		time.Sleep(20 * time.Millisecond)
		c.mutex.Lock()
		now = len(c.matching)
		c.mutex.Unlock()
	}
}

// since returns the durations from the given times until the objects with these names matched for the first time.
func (c *counter) since(began map[types.NamespacedName]time.Time) []time.Duration {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var took []time.Duration
	for name, at := range began {
		took = append(took, c.first[name].Sub(at))
	}
	return took
}

// request is a request in the audit log.
type request struct {
	auditv1.Event

	// resource includes the subresource after a slash. It is empty for requests that are not about objects, such as discovery.
	resource string
}

// counts reports whether the request is about objects of users. In a real cluster, the operator connects to the pods directly.
func (r request) counts() bool {
	return !slices.Contains([]string{"", "leases", "events", "pods/proxy"}, r.resource)
}

func (r request) isWrite() bool {
	return r.counts() && !slices.Contains([]string{"get", "list", "watch"}, r.Verb)
}

func (r request) isGet() bool { return r.counts() && r.Verb == "get" }

// disturbsRest reports whether an operator at rest should not send the request. It renews its lease and its watches, and asks pods.
func (r request) disturbsRest() bool {
	return r.resource != "leases" && r.resource != "pods/proxy" && r.Verb != "watch"
}

// memcached returns the name of the Memcached that the request is about. Its children have this name, some with a suffix.
func (r request) memcached() string {
	const name = len("cache-00000") // see memcachedNumber
	return r.ObjectRef.Name[:min(name, len(r.ObjectRef.Name))]
}

func countIf(requests []request, matches func(request) bool) float64 {
	n := 0
	for _, r := range requests {
		if matches(r) {
			n++
		}
	}
	return float64(n)
}

// writesPerMemcached returns how many writes to its children and to its status there were for each Memcached.
func writesPerMemcached(requests []request) (children, statuses map[string]int) {
	children, statuses = map[string]int{}, map[string]int{}
	for _, r := range requests {
		switch {
		case !r.isWrite():
		case r.resource == "memcacheds/status":
			statuses[r.memcached()]++
		default:
			children[r.memcached()]++
		}
	}
	return children, statuses
}

// auditLog reads the audit log as it grows.
type auditLog struct {
	path     string
	offset   int64
	requests []request
}

// mark returns a position in the audit log: the number of requests before it.
func (l *auditLog) mark() int {
	l.read()
	return len(l.requests)
}

// since returns the requests of a user after the mark.
func (l *auditLog) since(mark int, user string) []request {
	l.read()
	return slices.DeleteFunc(slices.Clone(l.requests[mark:]), func(r request) bool { return r.User.Username != user })
}

// quietPeriod is how long the operator must write nothing before it counts as idle. It usually reacts within half a second.
const quietPeriod = 3 * time.Second

// whenQuiet waits until a user has written nothing for quietPeriod, and returns the user's requests since the mark.
func (l *auditLog) whenQuiet(ctx context.Context, mark int, user string) []request {
	last, since := -1.0, time.Now()
	for {
		requests := l.since(mark, user)
		if now := countIf(requests, request.isWrite); now != last {
			last, since = now, time.Now()
		} else if time.Since(since) >= quietPeriod {
			return requests
		}
		pause(ctx, 200*time.Millisecond)
	}
}

// read continues where the last call stopped. It leaves an incomplete last line for the next call. It leaves out the ends of watches.
func (l *auditLog) read() {
	file := must(os.Open(l.path))
	defer func() { _ = file.Close() }() // closing a file that was only read loses nothing
	must(file.Seek(l.offset, io.SeekStart))
	content := must(io.ReadAll(file))
	complete := content[:bytes.LastIndexByte(content, '\n')+1]
	for line := range bytes.Lines(complete) {
		var r request
		check(json.Unmarshal(line, &r.Event))
		if ref := r.ObjectRef; ref != nil {
			r.resource = strings.TrimSuffix(ref.Resource+"/"+ref.Subresource, "/")
		}
		if r.Verb != "watch" || r.Stage != auditv1.StageResponseComplete {
			l.requests = append(l.requests, r)
		}
	}
	l.offset += int64(len(complete))
}
