// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

// Package faults tests that the operator reaches the desired state despite failures, and changes nothing else.
//
// The sweep (sweep_test.go) runs each scenario, a sequence of user actions, first without a fault. Then it repeats the scenario once
// for each way in which a write or a watch of the operator can fail. Each repetition is a plan. The proxy (proxy_test.go), an HTTP
// proxy in front of the API server, injects the fault. Oracles check what the API server recorded. cluster_test.go simulates the
// workload controllers, the garbage collector and the kubelet.
//
// In this package, "proxy" is that HTTP proxy. "front" is the name of the MemcachedProxy, "cache" of the Memcached, and "twin" of a
// second Memcached with the same items (spec.fillFrom).
//
// TestHistories changes Memcacheds at random while the operator is killed. FAULTS_LOG=1 shows the operator's log.
package faults

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/testenv"
)

var (
	config *rest.Config
	// user is the client of the tests. It bypasses the proxy.
	user client.WithWatch
	// history records all changes of the objects that the operator watches.
	history *journal
)

func TestMain(m *testing.M) {
	code, err := runSuite(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		code = 1
	}
	os.Exit(code)
}

func runSuite(m *testing.M) (code int, err error) {
	logger := logr.Discard() // hundreds of injected failures would fill the log
	if os.Getenv("FAULTS_LOG") != "" {
		logger = zap.New()
	}
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	environment := testenv.New()
	config, err = environment.Start()
	if err != nil {
		return 1, fmt.Errorf("start the API server: %w", err)
	}
	defer func() {
		if stopErr := environment.Stop(); stopErr != nil && err == nil {
			err = fmt.Errorf("stop the API server: %w", stopErr)
		}
	}()
	config.QPS = -1
	user, err = client.NewWithWatch(config, client.Options{Scheme: testenv.Scheme()})
	if err != nil {
		return 1, fmt.Errorf("create the client of the user: %w", err)
	}
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1k"), corev1.ResourceMemory: resource.MustParse("1Ti")}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Status: corev1.NodeStatus{Allocatable: room, Capacity: room}}
	if err = user.Create(context.Background(), node); err != nil { // pods can be resized only if their node has room
		return 1, fmt.Errorf("create the cluster node: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	history = newJournal()
	if err := history.follow(ctx, user); err != nil {
		return 1, err
	}
	stopped, err := startCluster(ctx)
	if err != nil {
		return 1, err
	}
	code = m.Run()
	cancel()
	return code, <-stopped
}

// kinds maps the resources that the operator watches to their Kinds.
var kinds = func() map[string]schema.GroupVersionKind {
	kinds := map[string]schema.GroupVersionKind{
		"memcacheds": cachev1alpha1.GroupVersion.WithKind("Memcached"),
		"pods":       corev1.SchemeGroupVersion.WithKind("Pod"),

		"memcachedproxies": cachev1alpha1.GroupVersion.WithKind("MemcachedProxy"),
	}
	for _, child := range memcached.Children {
		resource, _ := meta.UnsafeGuessKindToResource(child.Kind)
		kinds[resource.Resource] = child.Kind
	}
	return kinds
}()

func listOf(kind schema.GroupVersionKind) client.ObjectList {
	kind.Kind += "List"
	list, err := testenv.Scheme().New(kind)
	if err != nil {
		panic(err)
	}
	return list.(client.ObjectList)
}

var resources = slices.Sorted(maps.Keys(kinds))

type entry struct {
	resource string
	// event is watch.Added, watch.Modified or watch.Deleted.
	event watch.EventType
	// version is the resource version of the change. Changes of all kinds are ordered by it.
	version uint64
	object  client.Object
}

func (e entry) key() string { return e.resource + "/" + e.object.GetName() }

// journal records every change of every object whose Kind is in kinds.
type journal struct {
	mutex   sync.Mutex
	changed chan struct{}      // closed and replaced at each change
	entries map[string][]entry // by namespace
}

func newJournal() *journal {
	return &journal{changed: make(chan struct{}), entries: map[string][]entry{}}
}

// follow starts to record changes. The recording ends with the context.
func (j *journal) follow(ctx context.Context, c client.WithWatch) error {
	for resource, kind := range kinds {
		// Each watch starts at the version of its list, so it does not deliver the existing objects.
		list := listOf(kind)
		if err := c.List(ctx, list); err != nil {
			return fmt.Errorf("list %s: %w", resource, err)
		}
		go func() {
			for ctx.Err() == nil {
				j.record(ctx, c, resource, list)
			}
		}()
	}
	return nil
}

// record reads one watch to its end. The watch starts at the resource version of list. record updates this version with each event,
// for the next watch.
func (j *journal) record(ctx context.Context, c client.WithWatch, resource string, list client.ObjectList) {
	version := list.GetResourceVersion()
	options := &client.ListOptions{}
	options.Raw = options.AsListOptions()
	options.Raw.ResourceVersion = version
	options.Raw.AllowWatchBookmarks = true
	w, err := c.Watch(ctx, list, options)
	if err != nil {
		return
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		object, ok := event.Object.(client.Object)
		if !ok {
			return
		}
		list.SetResourceVersion(object.GetResourceVersion())
		if event.Type != watch.Bookmark {
			j.add(entry{resource: resource, event: event.Type, version: versionOf(object), object: object})
		}
	}
}

func versionOf(object client.Object) uint64 {
	version, _ := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	return version
}

func (j *journal) add(e entry) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	namespace := e.object.GetNamespace()
	j.entries[namespace] = append(j.entries[namespace], e)
	close(j.changed)
	j.changed = make(chan struct{})
}

// of returns the changes in a namespace so far, sorted by version: the events of different watches may arrive out of order.
func (j *journal) of(namespace string) []entry {
	j.mutex.Lock()
	entries := slices.Clone(j.entries[namespace])
	j.mutex.Unlock()
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.version, b.version) })
	return entries
}

func (j *journal) forget(namespace string) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	delete(j.entries, namespace)
}

// await waits until the check finds nothing missing. It repeats the check when the namespace has changed.
func (j *journal) await(ctx context.Context, namespace string, check func(objects) string) error {
	checked, missing := -1, ""
	for {
		j.mutex.Lock()
		count, changed := len(j.entries[namespace]), j.changed
		j.mutex.Unlock()
		if count != checked {
			checked = count
			if missing = check(latest(j.of(namespace))); missing == "" {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", missing, context.Cause(ctx))
		case <-changed:
		}
	}
}

// objects are the existing objects of a namespace, with keys such as "pods/cache-0".
type objects map[string]client.Object

func latest(entries []entry) objects {
	found := objects{}
	for _, e := range entries {
		found.add(e)
	}
	return found
}

func (o objects) add(e entry) {
	if e.event == watch.Deleted {
		delete(o, e.key())
	} else {
		o[e.key()] = e.object
	}
}

// get returns the object of this resource that has the name cacheName, or nil.
func get[T client.Object](o objects, resource string) T {
	object, _ := o[resource+"/"+cacheName].(T)
	return object
}

// pods returns the pods of the Memcached "cache", sorted by name.
func (o objects) pods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if pod, ok := o[key].(*corev1.Pod); ok && strings.HasPrefix(pod.Name, cacheName+"-") {
			pods = append(pods, pod)
		}
	}
	return pods
}

// nodes returns the names of the pods of "cache" that are ready and not terminating.
func (o objects) nodes() []string {
	nodes := []string{}
	for _, pod := range o.pods() {
		if podReady(pod) && pod.DeletionTimestamp == nil {
			nodes = append(nodes, pod.Name)
		}
	}
	return nodes
}
