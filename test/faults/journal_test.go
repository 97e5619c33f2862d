// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/testenv"
)

// kinds are the Kinds that the operator watches, by resource.
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

// listOf returns an empty list of a Kind.
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
	// event is Added, Modified or Deleted.
	event watch.EventType
	// version is the resource version. It orders the changes of all kinds.
	version uint64
	object  client.Object
}

func (e entry) key() string { return e.resource + "/" + e.object.GetName() }

// journal contains every change of every object of the watched kinds, in the API server's order.
type journal struct {
	mutex   sync.Mutex
	changed chan struct{}      // closed and replaced at each change
	entries map[string][]entry // by namespace
	total   int                // the number of changes in all namespaces, including forgotten ones
}

func newJournal() *journal {
	return &journal{changed: make(chan struct{}), entries: map[string][]entry{}}
}

// follow records changes until the context ends.
func (j *journal) follow(ctx context.Context, c client.WithWatch) error {
	for resource, kind := range kinds {
		// Each watch starts after its list, so it does not deliver the existing objects.
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

// record reads one watch to its end. The resource version in the list is where the next watch starts.
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
	j.total++
	close(j.changed)
	j.changed = make(chan struct{})
}

// of returns the changes in a namespace so far. It sorts them, because the events of different watches may be out of order.
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

// await waits until the check reports nothing missing. It calls the check after every change in the namespace.
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

// awaitChanges waits for this many further changes in any namespaces. It returns false if the context ends first.
func (j *journal) awaitChanges(ctx context.Context, count int) bool {
	first := -1
	for {
		j.mutex.Lock()
		total, changed := j.total, j.changed
		j.mutex.Unlock()
		if first < 0 {
			first = total
		}
		if total-first >= count {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}

// objects are the existing objects of a namespace, by resource and name.
type objects map[string]client.Object

// latest returns the objects that exist after the changes.
func latest(entries []entry) objects {
	found := objects{}
	for _, e := range entries {
		found.add(e)
	}
	return found
}

// add applies a change.
func (o objects) add(e entry) {
	if e.event == watch.Deleted {
		delete(o, e.key())
	} else {
		o[e.key()] = e.object
	}
}

// get returns the object with the name of the Memcached, or nil if there is none.
func get[T client.Object](o objects, resource string) T {
	object, _ := o[resource+"/"+cacheName].(T)
	return object
}

// pods returns the pods of the Memcached, sorted by name.
func (o objects) pods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if pod, ok := o[key].(*corev1.Pod); ok && strings.HasPrefix(pod.Name, cacheName+"-") {
			pods = append(pods, pod)
		}
	}
	return pods
}

// nodes returns the names of the ready pods that are not terminating.
func (o objects) nodes() []string {
	nodes := []string{}
	for _, pod := range o.pods() {
		if podReady(pod) && pod.DeletionTimestamp == nil {
			nodes = append(nodes, pod.Name)
		}
	}
	return nodes
}
