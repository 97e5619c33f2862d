// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

// Package faults tests that the operator reaches the desired state despite failures, and changes nothing else.
//
// The sweep (sweep_test.go) runs each scenario, a sequence of user actions, first without a fault. Then it repeats the scenario once for
// each way in which a write of the operator can fail, and with restarts over stale caches. Each repetition is a plan. The wire
// (operator_test.go), through which the operator writes, injects the fault. Oracles check what the API server recorded. cluster_test.go
// simulates controllers, kubelets, and what runs in the pods.
//
// FAULTS_LOG=1 shows the operator's log.
package faults

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/testenv"
)

var (
	config *rest.Config
	// user is the client of the tests. It bypasses the wire.
	user client.Client
	// histories holds the history of each namespace with a run.
	histories sync.Map
)

func TestMain(m *testing.M) { os.Exit(runSuite(m)) }

func runSuite(m *testing.M) int {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	logger := logr.Discard() // hundreds of injected failures would fill the log
	if os.Getenv("FAULTS_LOG") != "" {
		logger = zap.New()
	}
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	environment := testenv.New()
	var err error
	config, err = environment.Start()
	must(err)
	defer func() { must(environment.Stop()) }()
	config.QPS = -1
	user, err = client.New(config, client.Options{Scheme: testenv.Scheme()})
	must(err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1k"), corev1.ResourceMemory: resource.MustParse("1Ti")}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Status: corev1.NodeStatus{Allocatable: room, Capacity: room}}
	must(user.Create(ctx, node)) // pods can be resized only if their node has room
	must(follow(ctx))
	return m.Run()
}

// kinds are empty objects of the Kinds that the operator watches, by resource.
var kinds = func() map[string]client.Object {
	kinds := map[string]client.Object{"memcacheds": &cachev1alpha1.Memcached{}, "pods": &corev1.Pod{}}
	for _, child := range memcached.Kinds() {
		resource, _ := meta.UnsafeGuessKindToResource(child.Kind)
		kinds[resource.Resource] = child.New()
	}
	return kinds
}()

// follow records the changes of all objects of these kinds in the histories until the context ends.
func follow(ctx context.Context) error {
	informers, err := cache.New(config, cache.Options{Scheme: testenv.Scheme()})
	if err != nil {
		return err
	}
	go func() { _ = informers.Start(ctx) }() // without it, no run gets far
	for resource, object := range kinds {
		informer, err := informers.GetInformer(ctx, object)
		if err != nil {
			return err
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { record(resource, object, false) },
			UpdateFunc: func(_, object any) { record(resource, object, false) },
			DeleteFunc: func(object any) { record(resource, object, true) },
		}); err != nil {
			return err
		}
	}
	return nil
}

func record(resource string, changed any, deleted bool) {
	if missed, ok := changed.(toolscache.DeletedFinalStateUnknown); ok {
		changed = missed.Obj
	}
	object := changed.(client.Object)
	if found, ok := histories.Load(object.GetNamespace()); ok {
		h := found.(*history)
		h.mutex.Lock()
		defer h.mutex.Unlock()
		h.entries = append(h.entries, entry{resource, deleted, object})
		close(h.changed)
		h.changed = make(chan struct{})
	}
}

// entry is a change of an object.
type entry struct {
	resource string
	deleted  bool
	object   client.Object
}

func (e entry) key() string { return e.resource + "/" + e.object.GetName() }

// version is the resource version of the change. Changes of all kinds are ordered by it.
func (e entry) version() uint64 {
	version, _ := strconv.ParseUint(e.object.GetResourceVersion(), 10, 64)
	return version
}

// history has every change of every object in a namespace whose Kind is in kinds.
type history struct {
	mutex   sync.Mutex
	changed chan struct{} // closed and replaced at each change
	entries []entry
}

// all returns the changes so far, sorted by version: the events of different watches may arrive out of order. The channel is closed at the
// next change.
func (h *history) all() ([]entry, <-chan struct{}) {
	h.mutex.Lock()
	entries, changed := slices.Clone(h.entries), h.changed
	h.mutex.Unlock()
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.version(), b.version()) })
	return entries, changed
}

// now returns the existing objects.
func (h *history) now() objects {
	entries, _ := h.all()
	return latest(entries)
}

// check returns what is missing, or "".
type check func(objects) string

// await waits until the check finds nothing missing. It repeats the check when the namespace has changed.
func (h *history) await(ctx context.Context, check check) error {
	for {
		entries, changed := h.all()
		missing := check(latest(entries))
		if missing == "" {
			return nil
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
	if e.deleted {
		delete(o, e.key())
	} else {
		o[e.key()] = e.object
	}
}

// get returns the object with this key, or nil.
func get[T client.Object](o objects, key string) T {
	object, _ := o[key].(T)
	return object
}

// cache returns the Memcached, or nil.
func (o objects) cache() *cachev1alpha1.Memcached {
	return get[*cachev1alpha1.Memcached](o, "memcacheds/"+cacheName)
}

// pods returns the pods of the workload with this UID, sorted by name.
func (o objects) pods(workload client.Object) (pods []*corev1.Pod) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if pod, ok := o[key].(*corev1.Pod); ok && metav1.IsControlledBy(pod, workload) {
			pods = append(pods, pod)
		}
	}
	return pods
}
