// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// cacheName is the name of the Memcached in each test. A second Memcached is called twinName.
const cacheName = "cache"

// convergenceTimeout is how long a test or a run of a scenario may take. It exceeds the operator's longest backoff. The environment
// variable FAULTS_LIMIT overrides it.
const convergenceTimeout = 120 * time.Second

var namespaces atomic.Int32

// sandbox is a namespace in which a test acts as a user.
type sandbox struct {
	*testing.T

	ctx       context.Context //nolint:containedctx // the test's own context
	namespace string
}

func newSandbox(ctx context.Context, t *testing.T) *sandbox {
	t.Helper()
	s := &sandbox{T: t, ctx: ctx, namespace: fmt.Sprintf("sandbox-%d", namespaces.Add(1))}
	s.must(user.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}))
	return s
}

func limited(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	timeout := convergenceTimeout
	if override, err := time.ParseDuration(os.Getenv("FAULTS_LIMIT")); err == nil {
		timeout = override
	}
	return context.WithTimeoutCause(t.Context(), timeout, errors.New("it did not converge"))
}

func (s *sandbox) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// await waits until the check finds nothing missing. A check returns what is missing, or an empty string. The first argument describes
// the wait in the error.
func (s *sandbox) await(what string, check func(objects) string) {
	s.Helper()
	if err := history.await(s.ctx, s.namespace, check); err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

// awaitWrite waits until the history contains this version of the object, or a later one. It compares types, because objects of
// several kinds have the same name.
func (s *sandbox) awaitWrite(object client.Object) {
	s.Helper()
	s.await("the write of the user", func(objects) string {
		for _, e := range history.of(s.namespace) {
			same := reflect.TypeOf(e.object) == reflect.TypeOf(object) && e.object.GetName() == object.GetName()
			if same && e.version >= versionOf(object) {
				return ""
			}
		}
		return "it is not in the history"
	})
}

func (s *sandbox) create(object client.Object) {
	s.Helper()
	object.SetNamespace(s.namespace)
	s.must(user.Create(s.ctx, object))
	s.awaitWrite(object)
}

// createCache creates the Memcached "cache" with this size, after applying the changes to its spec in order.
func (s *sandbox) createCache(size int32, changes ...func(*cachev1alpha1.MemcachedSpec)) {
	s.Helper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Name: cacheName}, Spec: cachev1alpha1.MemcachedSpec{Size: size},
	}
	for _, change := range changes {
		change(&mc.Spec)
	}
	s.create(mc)
}

// remove deletes an object. An object without a name stands for the Memcached "cache", or for its child of this Kind.
func (s *sandbox) remove(object client.Object) {
	s.Helper()
	s.read(object)
	uid := object.GetUID()
	s.must(user.Delete(s.ctx, object))
	s.await("the deletion by the user", func(now objects) string {
		for _, remaining := range now {
			if remaining.GetUID() == uid && remaining.GetDeletionTimestamp() == nil {
				return "it is not in the history"
			}
		}
		return ""
	})
}

// removeAll deletes the Memcached "cache", and waits until its children and pods are gone. It does nothing after the context has
// ended.
func (s *sandbox) removeAll() {
	if s.ctx.Err() == nil {
		s.remove(&cachev1alpha1.Memcached{})
		s.await("clean up", hasNone)
	}
}

func (s *sandbox) read(object client.Object) {
	s.Helper()
	name := client.ObjectKey{Namespace: s.namespace, Name: cmp.Or(object.GetName(), cacheName)}
	if child, ok := memcached.ChildOf(object); ok && object.GetName() == "" {
		name = client.ObjectKeyFromObject(child.Named(name))
	}
	s.must(user.Get(s.ctx, name, object))
}

// change edits an object as a user would. An object without a name stands for the Memcached "cache", or for its child of this Kind.
func change[T client.Object](s *sandbox, object T, edit func(T)) {
	s.Helper()
	s.read(object)
	before := object.DeepCopyObject().(client.Object)
	edit(object)
	s.must(user.Patch(s.ctx, object, client.MergeFrom(before), client.FieldOwner("user")))
	s.awaitWrite(object)
}

func (s *sandbox) changeSpec(edit func(*cachev1alpha1.MemcachedSpec)) {
	s.Helper()
	change(s, &cachev1alpha1.Memcached{}, func(mc *cachev1alpha1.Memcached) { edit(&mc.Spec) })
}

func (s *sandbox) awaitReason(condition, reason string) {
	s.Helper()
	s.await(condition+" is "+reason, func(now objects) string {
		mc := get[*cachev1alpha1.Memcached](now, "memcacheds")
		if mc == nil {
			return "there is no Memcached"
		}
		c := meta.FindStatusCondition(mc.Status.Conditions, condition)
		if c == nil || c.Reason != reason || mc.Status.ObservedGeneration != mc.Generation {
			return fmt.Sprintf("it is %+v", c)
		}
		return ""
	})
}
