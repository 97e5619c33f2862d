// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

// events returns the events about a Memcached or a MemcachedProxy, its child objects and its pods, the oldest first.
func (c *cluster) events(ctx context.Context, owner client.Object) ([]corev1.Event, error) {
	var list corev1.EventList
	if err := c.List(ctx, &list, client.InNamespace(owner.GetNamespace())); err != nil {
		return nil, err
	}
	suffixes := suffixesOf("Memcached", memcached.Children)
	if _, isProxy := owner.(*cachev1alpha1.MemcachedProxy); isProxy {
		suffixes = suffixesOf("MemcachedProxy", memcachedproxy.Children)
	}
	about := slices.DeleteFunc(list.Items, func(event corev1.Event) bool {
		kind := event.InvolvedObject.Kind
		suffix, found := strings.CutPrefix(event.InvolvedObject.Name, owner.GetName())
		if pattern := generated[kind]; pattern != nil {
			return !found || !pattern.MatchString(suffix)
		}
		return !found || !slices.Contains(suffixes[kind], suffix)
	})
	slices.SortStableFunc(about, func(a, b corev1.Event) int { return lastSeen(&a).Compare(lastSeen(&b)) })
	return about, nil
}

// suffixesOf returns, for each Kind, what the names of child objects add to the owner's name. For the owner's Kind, this is nothing.
func suffixesOf[Owner client.Object](kind string, children []memcached.Child[Owner]) map[string][]string {
	suffixes := map[string][]string{kind: {""}}
	for _, child := range children {
		suffixes[child.Kind.Kind] = append(suffixes[child.Kind.Kind], child.Suffix)
	}
	return suffixes
}

// hash matches the hash of a pod template in a name. random matches the five characters that the API server appends to generated
// names.
const hash, random = "[4-9bcdf]{1,10}", "[bcdfghjklmnpqrstvwxz2456789]{5}"

// generated matches, by Kind, what Kubernetes appends to the owner's name. Only names are compared, because the objects may no longer
// exist. Kubernetes shortens a long name of a ReplicaSet before it appends the random characters of a pod's name, so the hyphen before
// these characters may be missing.
var generated = map[string]*regexp.Regexp{
	"EndpointSlice": regexp.MustCompile("^-" + random + "$"),
	"Pod":           regexp.MustCompile("^-([0-9]+|" + hash + "-?" + random + ")$"),
	"ReplicaSet":    regexp.MustCompile("^-" + hash + "$"),
}

// lastSeen returns when an event last happened. The API that wrote the event determines which field contains this time.
func lastSeen(event *corev1.Event) time.Time {
	switch {
	case event.Series != nil:
		return event.Series.LastObservedTime.Time
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp.Time
	case !event.EventTime.IsZero():
		return event.EventTime.Time
	}
	return event.CreationTimestamp.Time
}
