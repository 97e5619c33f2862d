// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// cacheName is the name of every Memcached of the scenarios.
const cacheName = "cache"

// limit ends a play that does not converge: more than the longest backoff. FAULTS_LIMIT may be another duration.
const limit = 120 * time.Second

var namespaces atomic.Int32

// play is a scenario being played, in a namespace of its own.
type play struct {
	*testing.T

	ctx       context.Context //nolint:containedctx // it is that of the test
	cancel    context.CancelFunc
	namespace string
	proxy     *proxy
	// foreign are objects of somebody else, as they were created.
	foreign []client.Object

	mutex    sync.Mutex
	operator *operator
	// crashed holds the errors of crashes, of which there is at most one.
	crashed chan error
}

// newPlay creates a namespace with an operator in it.
func newPlay(t *testing.T) *play {
	t.Helper()
	ctx, cancel := limited(t)
	p := &play{T: t, ctx: ctx, namespace: fmt.Sprintf("play-%d", namespaces.Add(1)), crashed: make(chan error, 1)}
	p.must(user.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}))
	p.foreign = foreigners(p.namespace)
	for _, object := range p.foreign {
		p.must(user.Create(ctx, object))
	}
	var err error
	p.proxy, err = newProxy()
	p.must(err)
	p.operator, err = startOperator(ctx, p.proxy, p.namespace)
	p.must(err)
	p.proxy.crash = p.restart
	p.cancel = cancel
	return p
}

// limited is a context that ends a play that does not converge.
func limited(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	limit := limit
	if shorter, err := time.ParseDuration(os.Getenv("FAULTS_LIMIT")); err == nil {
		limit = shorter
	}
	return context.WithTimeoutCause(t.Context(), limit, errors.New("it did not converge"))
}

// end deletes what the scenario leaves, as later plans pay for every object that exists.
func (p *play) end() {
	defer p.cancel()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if err := p.operator.crash(); err != nil {
		p.Errorf("end the operator: %v", err)
	}
	defer history.forget(p.namespace)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: cacheName}}
	for _, object := range append(p.foreign, mc) {
		if err := client.IgnoreNotFound(user.Delete(ctx, object)); err != nil {
			p.Errorf("clean up: %v", err)
		}
	}
}

// restart ends the process of the operator and starts another one.
func (p *play) restart() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	err := p.operator.crash()
	if err == nil {
		var next *operator
		if next, err = startOperator(p.ctx, p.proxy, p.namespace); err == nil {
			p.operator = next
		}
	}
	p.crashed <- err
}

func (p *play) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// await waits until the check has nothing missing.
func (p *play) await(what string, check func(objects) string) {
	p.Helper()
	if err := history.await(p.ctx, p.namespace, check); err != nil {
		p.Fatalf("%s: %v", what, err)
	}
}

// seen waits until the history has a write of the user. The kinds have watches of their own, and their objects the same name.
func (p *play) seen(object client.Object) {
	p.Helper()
	p.await("the write of the user", func(objects) string {
		for _, e := range history.of(p.namespace) {
			same := reflect.TypeOf(e.object) == reflect.TypeOf(object) && e.object.GetName() == object.GetName()
			if same && e.version >= versionOf(object) {
				return ""
			}
		}
		return "it is not in the history"
	})
}

// create creates an object as a user would.
func (p *play) create(object client.Object) {
	p.Helper()
	object.SetNamespace(p.namespace)
	p.must(user.Create(p.ctx, object))
	p.seen(object)
}

// createCache creates the Memcached.
func (p *play) createCache(size int32) {
	p.Helper()
	p.create(&cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Name: cacheName}, Spec: cachev1alpha1.MemcachedSpec{Size: size},
	})
}

// remove deletes an object of the Memcached's name.
func (p *play) remove(object client.Object) {
	p.Helper()
	p.read(object)
	uid := object.GetUID()
	p.must(user.Delete(p.ctx, object))
	p.await("the deletion by the user", func(now objects) string {
		for _, still := range now {
			if still.GetUID() == uid && still.GetDeletionTimestamp() == nil {
				return "it is not in the history"
			}
		}
		return ""
	})
}

func (p *play) read(object client.Object) {
	p.Helper()
	p.must(user.Get(p.ctx, client.ObjectKey{Namespace: p.namespace, Name: cacheName}, object))
}

// change changes an object of the Memcached's name as a user would.
func change[T client.Object](p *play, object T, change func(T)) {
	p.Helper()
	p.read(object)
	before := object.DeepCopyObject().(client.Object)
	change(object)
	p.must(user.Patch(p.ctx, object, client.MergeFrom(before), client.FieldOwner("user")))
	p.seen(object)
}

// changeSpec changes the spec of the Memcached.
func (p *play) changeSpec(edit func(*cachev1alpha1.MemcachedSpec)) {
	p.Helper()
	change(p, &cachev1alpha1.Memcached{}, func(mc *cachev1alpha1.Memcached) { edit(&mc.Spec) })
}

// pause sets the pause annotation.
func (p *play) pause(value string) {
	p.Helper()
	change(p, &cachev1alpha1.Memcached{}, func(mc *cachev1alpha1.Memcached) {
		mc.Annotations = map[string]string{cachev1alpha1.PausedAnnotation: value}
	})
}

// awaitReason waits until a condition has a reason.
func (p *play) awaitReason(condition, reason string) {
	p.Helper()
	p.await(condition+" is "+reason, func(now objects) string {
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
