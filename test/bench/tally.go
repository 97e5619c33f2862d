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
	watchapi "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tally knows of how many objects of a kind something holds.
type tally struct {
	holds func(client.Object) bool

	mutex   sync.Mutex
	holding map[types.UID]bool
	// first is when it held of an object for the first time.
	first map[types.NamespacedName]time.Time
	// changed is when the number changed last.
	changed time.Time
	// news is closed and replaced when the number changes.
	news chan struct{}
	err  error
}

func newTally(holds func(client.Object) bool) *tally {
	return &tally{
		holds: holds, holding: map[types.UID]bool{}, first: map[types.NamespacedName]time.Time{}, news: make(chan struct{}),
	}
}

// tally follows a kind until the context ends.
func (r *rig) tally(ctx context.Context, kind client.ObjectList, holds func(client.Object) bool) (*tally, error) {
	t := newTally(holds)
	if err := r.follow(ctx, kind, t.see, t.fail); err != nil {
		return nil, err
	}
	return t, nil
}

// follow calls see for each object of a kind that is there and for each change of one, until the context ends. When the API
// server ends the watch, as it does with one that does not keep up, another one begins where that ended.
func (r *rig) follow(
	ctx context.Context, kind client.ObjectList, see func(watchapi.EventType, client.Object), fail func(error),
) error {
	if err := r.k8s.List(ctx, kind); err != nil {
		return fmt.Errorf("list %T: %w", kind, err)
	}
	err := meta.EachListItem(kind, func(item runtime.Object) error {
		see(watchapi.Added, item.(client.Object))
		return nil
	})
	if err != nil {
		return err
	}
	w, err := watchtools.NewRetryWatcherWithContext(ctx, kind.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watchapi.Interface, error) {
			w, err := r.k8s.Watch(ctx, kind, &client.ListOptions{Raw: &options})
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
				see(e.Type, object)
			} else {
				fail(fmt.Errorf("watching %T: %w", kind, apierrors.FromObject(e.Object)))
			}
		}
	}()
	return nil
}

func (t *tally) see(event watchapi.EventType, object client.Object) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	before := len(t.holding)
	if event != watchapi.Deleted && t.holds(object) {
		t.holding[object.GetUID()] = true
		if name := client.ObjectKeyFromObject(object); t.first[name].IsZero() {
			t.first[name] = time.Now()
		}
	} else {
		delete(t.holding, object.GetUID())
	}
	if len(t.holding) != before {
		t.tell()
	}
}

func (t *tally) fail(err error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.err = err
	t.tell()
}

func (t *tally) tell() {
	t.changed = time.Now()
	close(t.news)
	t.news = make(chan struct{})
}

// reach waits until it holds of n objects and returns when that came true.
func (t *tally) reach(ctx context.Context, n int) (time.Time, error) {
	for {
		t.mutex.Lock()
		now, changed, news, err := len(t.holding), t.changed, t.news, t.err
		t.mutex.Unlock()
		switch {
		case err != nil:
			return time.Time{}, err
		case now == n:
			return changed, nil
		}
		select {
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("it holds of %d objects, not of %d: %w", now, n, context.Cause(ctx))
		case <-news:
		}
	}
}

// firsts returns when it held of each object for the first time.
func (t *tally) firsts() map[types.NamespacedName]time.Time {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return maps.Clone(t.first)
}

// versions knows every version that the objects of the operator have had.
type versions struct {
	mutex sync.Mutex
	seen  map[version]bool
	err   error
}

type version struct {
	uid             types.UID
	resourceVersion string
}

// versions follows the kinds that the operator writes until the context ends.
func (r *rig) versions(ctx context.Context) (*versions, error) {
	v := &versions{seen: map[version]bool{}}
	for _, kind := range append(childKinds, memcachedKind) {
		if err := r.follow(ctx, metadataList(kind), v.see, v.fail); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (v *versions) see(event watchapi.EventType, object client.Object) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if event != watchapi.Deleted { // a deletion is no version of what was written
		v.seen[version{object.GetUID(), object.GetResourceVersion()}] = true
	}
}

func (v *versions) fail(err error) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.err = err
}

// count returns the number of versions so far.
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
