// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

// Package faults tests that the operator reaches the desired state despite failures, and changes nothing else.
//
// The sweep (sweep_test.go) runs each scenario, a sequence of user actions, first without a fault. Then it repeats the scenario once for
// each way in which a write of the operator can fail, and with restarts over stale caches. Each repetition is a plan. The wire
// (wire_test.go), through which the operator talks to the API server, injects the fault. Oracles check what the API server recorded.
// cluster_test.go simulates controllers, kubelets, and what runs in the pods.
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
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	// history records all changes of the objects that the operator watches.
	history = &journal{changed: make(chan struct{}), entries: map[string][]entry{}}
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
	if config, err = environment.Start(); err != nil {
		return 1, fmt.Errorf("start the API server: %w", err)
	}
	defer func() {
		if stopErr := environment.Stop(); stopErr != nil && err == nil {
			err = fmt.Errorf("stop the API server: %w", stopErr)
		}
	}()
	config.QPS = -1
	if user, err = client.New(config, client.Options{Scheme: testenv.Scheme()}); err != nil {
		return 1, err
	}
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1k"), corev1.ResourceMemory: resource.MustParse("1Ti")}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Status: corev1.NodeStatus{Allocatable: room, Capacity: room}}
	if err = user.Create(context.Background(), node); err != nil { // pods can be resized only if their node has room
		return 1, fmt.Errorf("create the cluster node: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
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

// entry is a change of an object.
type entry struct {
	resource string
	deleted  bool
	// version is the resource version of the change. Changes of all kinds are ordered by it.
	version uint64
	object  client.Object
}

func (e entry) key() string { return e.resource + "/" + e.object.GetName() }

func versionOf(object client.Object) uint64 {
	version, _ := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	return version
}

// journal records every change of every object whose Kind is in kinds.
type journal struct {
	mutex   sync.Mutex
	changed chan struct{}      // closed and replaced at each change
	entries map[string][]entry // by namespace
}

// follow records what the informers of a cache report.
func (j *journal) follow(ctx context.Context, informers cache.Informers) error {
	for resource, kind := range kinds {
		informer, err := informers.GetInformerForKind(ctx, kind)
		if err != nil {
			return err
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { j.add(resource, object, false) },
			UpdateFunc: func(_, object any) { j.add(resource, object, false) },
			DeleteFunc: func(object any) { j.add(resource, object, true) },
		}); err != nil {
			return err
		}
	}
	return nil
}

func (j *journal) add(resource string, changed any, deleted bool) {
	if missed, ok := changed.(toolscache.DeletedFinalStateUnknown); ok {
		changed = missed.Obj
	}
	object := changed.(client.Object)
	j.mutex.Lock()
	defer j.mutex.Unlock()
	namespace := object.GetNamespace()
	j.entries[namespace] = append(j.entries[namespace], entry{resource, deleted, versionOf(object), object})
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

// check returns what is missing, or "".
type check func(objects) string

// await waits until the check finds nothing missing. It repeats the check when the namespace has changed.
func (j *journal) await(ctx context.Context, namespace string, check check) error {
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
