// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	watchapi "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// counter watches all objects of a kind, and counts those that match.
type counter struct {
	matches func(client.Object) bool
	stop    context.CancelFunc

	mutex    sync.Mutex
	matching map[types.UID]bool
	// first maps each object to the time when it matched for the first time.
	first map[types.NamespacedName]time.Time
	// changed is when the count last changed.
	changed time.Time
	// updated is closed and replaced when the count changes.
	updated chan struct{}
	err     error
}

func newCounter(matches func(client.Object) bool) *counter {
	return &counter{
		matches: matches, matching: map[types.UID]bool{}, first: map[types.NamespacedName]time.Time{}, updated: make(chan struct{}),
	}
}

// countObjects starts a counter. It runs until it is stopped or the context ends.
func (t *testbed) countObjects(ctx context.Context, kind client.ObjectList, matches func(client.Object) bool) *counter {
	c := newCounter(matches)
	ctx, c.stop = context.WithCancel(ctx)
	check(listAndWatch(ctx, t.k8s, kind, c.handle, c.fail))
	return c
}

// listAndWatch calls handle for each existing object of a kind and for each change, until the context ends. If the API server ends
// the watch because the client is too slow, another watch continues from the latest change.
func listAndWatch(
	ctx context.Context, k8s client.WithWatch, kind client.ObjectList,
	handle func(watchapi.EventType, client.Object), fail func(error),
) error {
	if err := k8s.List(ctx, kind); err != nil {
		return fmt.Errorf("list %T: %w", kind, err)
	}
	err := meta.EachListItem(kind, func(item runtime.Object) error {
		handle(watchapi.Added, item.(client.Object))
		return nil
	})
	if err != nil {
		return err
	}
	w, err := watchtools.NewRetryWatcherWithContext(ctx, kind.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watchapi.Interface, error) {
			w, err := k8s.Watch(ctx, kind, &client.ListOptions{Raw: &options})
			if apierrors.IsGone(err) || apierrors.IsResourceExpired(err) {
				fail(fmt.Errorf("watching %T: changes are missing: %w", kind, err))
			}
			return w, err
		},
	})
	if err != nil {
		return err
	}
	go func() {
		for e := range w.ResultChan() {
			if object, ok := e.Object.(client.Object); ok {
				handle(e.Type, object)
			} else {
				fail(fmt.Errorf("watching %T: %w", kind, apierrors.FromObject(e.Object)))
			}
		}
	}()
	return nil
}

func (c *counter) handle(event watchapi.EventType, object client.Object) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	before := len(c.matching)
	if event != watchapi.Deleted && c.matches(object) {
		c.matching[object.GetUID()] = true
		if name := client.ObjectKeyFromObject(object); c.first[name].IsZero() {
			c.first[name] = time.Now()
		}
	} else {
		delete(c.matching, object.GetUID())
	}
	if len(c.matching) != before {
		c.notify()
	}
}

func (c *counter) fail(err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.err = err
	c.notify()
}

func (c *counter) notify() {
	c.changed = time.Now()
	close(c.updated)
	c.updated = make(chan struct{})
}

// waitFor waits until exactly n objects match, and returns the time at which the count last changed.
func (c *counter) waitFor(ctx context.Context, n int) time.Time {
	for {
		c.mutex.Lock()
		now, changed, updated, err := len(c.matching), c.changed, c.updated, c.err
		c.mutex.Unlock()
		check(err)
		if now == n {
			return changed
		}
		select {
		case <-ctx.Done():
			check(fmt.Errorf("%d objects match, want %d: %w", now, n, context.Cause(ctx)))
		case <-updated:
		}
	}
}

func (c *counter) firstMatches() map[types.NamespacedName]time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return maps.Clone(c.first)
}

// versions records every version of the objects of some kinds, including versions that no longer exist.
type versions struct {
	stop  context.CancelFunc
	mutex sync.Mutex
	seen  map[version]bool
	err   error
}

type version struct {
	uid             types.UID
	resourceVersion string
}

// trackVersions starts to record the versions of all Memcacheds and their children. The caller must call stop of the result.
func (t *testbed) trackVersions(ctx context.Context) *versions {
	v := &versions{seen: map[version]bool{}}
	ctx, v.stop = context.WithCancel(ctx)
	kinds := sets.New(childKinds...).Insert(statefulSetKinds...).Insert(cachev1alpha1.GroupVersion.WithKind("Memcached"))
	for kind := range kinds {
		check(listAndWatch(ctx, t.k8s, metadataList(kind), v.handle, v.fail))
	}
	return v
}

func (v *versions) handle(event watchapi.EventType, object client.Object) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if event != watchapi.Deleted { // a deletion creates no version
		v.seen[version{object.GetUID(), object.GetResourceVersion()}] = true
	}
}

func (v *versions) fail(err error) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.err = err
}

func (v *versions) count() (int, error) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return len(v.seen), v.err
}

func metadataList(kind schema.GroupVersionKind) *metav1.PartialObjectMetadataList {
	objects := &metav1.PartialObjectMetadataList{}
	kind.Kind += "List"
	objects.SetGroupVersionKind(kind)
	return objects
}
