// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// events returns the events about a Memcached or a MemcachedProxy, its child objects and its pods, the oldest first.
func (c *cluster) events(ctx context.Context, owner client.Object) ([]corev1.Event, error) {
	var list corev1.EventList
	if err := c.List(ctx, &list, client.InNamespace(owner.GetNamespace())); err != nil {
		return nil, err
	}
	about := slices.DeleteFunc(list.Items, func(event corev1.Event) bool {
		name := event.InvolvedObject.Name
		return name != owner.GetName() && !strings.HasPrefix(name, owner.GetName()+"-")
	})
	slices.SortStableFunc(about, func(a, b corev1.Event) int { return lastSeen(&a).Compare(lastSeen(&b)) })
	return about, nil
}

// lastSeen returns when an event last happened. The field with that time depends on the API that wrote the event.
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
