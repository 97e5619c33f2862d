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
	total   int                // the number of changes in all namespaces, including forgotten ones
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
	j.total++
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

// awaitChanges waits for this many further changes in all namespaces together. It returns false if the context ends first.
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
