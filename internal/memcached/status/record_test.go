// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestRecord covers changes of the spec. The record shows which spec was carried out, and which changes replace nodes.
func TestRecord(t *testing.T) {
	changed := func(before int32, more ...func(*cachev1alpha1.Memcached)) *cachev1alpha1.Memcached {
		return memcachedtest.Cache(3, append([]func(*cachev1alpha1.Memcached){
			carriedOut(memcachedtest.Cache(before)), memcachedtest.Image("memcached:2"),
		}, more...)...)
	}
	rolling := []func(*appsv1.Deployment){specGeneration(2), revision(2), counts(2, 3, 1, 3), progress("ReplicaSetUpdated")}
	unseen := []func(*appsv1.Deployment){specGeneration(2), revision(1), counts(1, 3, 3, 3), progress(rolloutComplete)}
	for name, c := range map[string]struct {
		mc             *cachev1alpha1.Memcached
		deployment     []func(*appsv1.Deployment)
		written        memcached.Written
		image, changes string
	}{
		"a rollout has begun":        {mc: changed(3), deployment: unseen, image: "memcached:2", changes: "image unset to memcached:2"},
		"a rollout goes on":          {mc: changed(3), deployment: rolling, image: "memcached:2", changes: "image unset to memcached:2"},
		"with another size":          {mc: changed(2), deployment: rolling, image: "memcached:2", changes: "image unset to memcached:2"},
		"a rollout is complete":      {mc: changed(3), deployment: []func(*appsv1.Deployment){settled}, image: "memcached:2"},
		"nothing was recorded":       {mc: memcachedtest.Cache(3, memcachedtest.Image("memcached:2")), deployment: rolling, image: "memcached:2"},
		"only the size has changed":  {mc: memcachedtest.Cache(3, carriedOut(memcachedtest.Cache(2))), deployment: rolling},
		"a pause holds a size back":  {mc: memcachedtest.Cache(3, carriedOut(memcachedtest.Cache(2)), memcachedtest.Paused), deployment: rolling},
		"another object was refused": {mc: changed(3), deployment: rolling, written: refusedWrite, changes: "image unset to memcached:2"},
	} {
		t.Run(name, func(t *testing.T) {
			observed := memcached.Observed{Children: memcachedtest.Children(makeDeployment(t, c.mc, c.deployment...)), Pods: makePods(3)}
			got := statusOf(c.mc, observed, c.written, noon)
			record := got.LastApplied
			if image, changes := string(record.Spec["image"]), strings.Join(record.Changes, ", "); image != c.image || changes != c.changes {
				t.Errorf("recorded the image %q, want %q, and the changes %q, want %q", image, c.image, changes, c.changes)
			}
			message := meta.FindStatusCondition(got.Conditions, cachev1alpha1.ConditionProgressing).Message
			if _, told, _ := strings.Cut(message, "; changed: "); told != c.changes {
				t.Errorf("the message is %q", message)
			}
			c.mc.Status = got
			if diff := cmp.Diff(got, statusOf(c.mc, observed, c.written, noon)); diff != "" {
				t.Errorf("the next status differs (-want +got):\n%s", diff)
			}
		})
	}
}

var refusedWrite = memcached.Written{Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonConflict, Message: "in the way"}}
