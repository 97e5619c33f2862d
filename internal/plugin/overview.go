// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// overview describes a cache and its latest events. The texts are for people.
type overview struct {
	Image      string `json:"image"`
	Memory     string `json:"memory"`
	Addresses  string `json:"addresses"`
	TLS        string `json:"tls"`
	Users      string `json:"users"`
	Monitoring string `json:"monitoring"`
	Budget     string `json:"budget"`
	Operator   string `json:"operator"`
	// Twins names the cache that fills the nodes of this cache, and the caches whose nodes this cache fills. It is empty if there are
	// none.
	Twins string `json:"twins,omitempty"`
	// Events are the latest events, with the last one at the end.
	Events []eventReport `json:"events,omitempty"`
}

// eventReport is an event as the overview shows it.
type eventReport struct {
	Time    time.Time `json:"time"`
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Object  string    `json:"object"`
	Message string    `json:"message"`
}

const (
	offText = "off"
	// lastEvents is the number of events in an overview.
	lastEvents = 5
)

// overviewOf describes a Memcached. It also reads resources for which the user may lack the permission. If it cannot read such a
// resource, the overview shows "unknown" and the reason instead.
func overviewOf(ctx context.Context, c *cluster, mc *cachev1alpha1.Memcached, pods []corev1.Pod) *overview {
	o := &overview{
		Image:      cmp.Or(mc.Status.Image, mc.Spec.Image, unknownText),
		Memory:     memoryOf(mc, pods),
		Addresses:  addressesOf(mc, pods),
		TLS:        offText,
		Users:      offText,
		Monitoring: offText,
		Budget:     budgetOf(ctx, c, mc),
		Operator:   operatorOf(ctx, c),
		Twins:      twinsOf(ctx, c, mc),
	}
	if tls := mc.Spec.TLS; tls != nil {
		o.TLS = fmt.Sprintf("Secret %s, client certificates: %s, plaintext: %s", tls.SecretName,
			cmp.Or(tls.ClientAuth, cachev1alpha1.ClientAuthNone), cmp.Or(tls.Plaintext, cachev1alpha1.PlaintextDisabled))
	}
	if auth := mc.Spec.Auth; auth != nil {
		o.Users = "Secret " + auth.SecretName
	}
	if mc.Spec.Monitoring.Enabled {
		o.Monitoring = fmt.Sprintf("port %d, /metrics", memcached.MetricsPort)
	}
	o.addEvents(ctx, c, mc)
	return o
}

func memoryOf(mc *cachev1alpha1.Memcached, pods []corev1.Pod) string {
	items, limit := unknownText, unknownText
	if memory := mc.Spec.Config.Memory; memory != nil {
		items = memory.String()
	}
	for i := range pods {
		for _, container := range pods[i].Spec.Containers {
			if bytes, limited := container.Resources.Limits[corev1.ResourceMemory]; limited && container.Name == memcached.ContainerName {
				limit = bytes.String()
			}
		}
	}
	return fmt.Sprintf("%s for items of each node, of its limit of %s", items, limit)
}

// addressesOf returns the addresses to which clients connect.
func addressesOf(mc *cachev1alpha1.Memcached, pods []corev1.Pod) string {
	if mc.Status.ServiceName == "" {
		return unknownText
	}
	var ports []string
	for _, port := range []int{memcached.Port, memcached.TLSPort} {
		if slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return opens(&pod, port) }) {
			ports = append(ports, fmt.Sprint(port))
		}
	}
	addresses := serviceHost(mc) + ", port " + cmp.Or(strings.Join(ports, " and "), unknownText)
	if len(mc.Status.Servers) > 0 {
		addresses += "; nodes by name: " + mc.Status.Servers[0]
	}
	if more := len(mc.Status.Servers) - 1; more > 0 {
		addresses += fmt.Sprintf(" and %d more", more)
	}
	return addresses
}

// serviceHost returns the DNS name of the Service.
func serviceHost(mc *cachev1alpha1.Memcached) string {
	return mc.Status.ServiceName + "." + mc.Namespace + ".svc"
}

func budgetOf(ctx context.Context, c *cluster, mc *cachev1alpha1.Memcached) string {
	if !ptr.Deref(mc.Spec.PodDisruptionBudget.Enabled, true) {
		return offText
	}
	var budget policyv1.PodDisruptionBudget
	err := c.Get(ctx, client.ObjectKeyFromObject(mc), &budget)
	switch {
	case apierrors.IsNotFound(err):
		return "none"
	case err != nil:
		return unknownBecause(err)
	case budget.Spec.MinAvailable != nil:
		return fmt.Sprintf("at least %s available, %d may be evicted now", budget.Spec.MinAvailable, budget.Status.DisruptionsAllowed)
	}
	return fmt.Sprintf("at most %s unavailable, %d may be evicted now", budget.Spec.MaxUnavailable, budget.Status.DisruptionsAllowed)
}

// operatorOf returns the operators of the cluster with their images.
func operatorOf(ctx context.Context, c *cluster) string {
	var list appsv1.DeploymentList
	if err := c.List(ctx, &list, client.MatchingLabels{memcached.NameLabel: "memcached-operator"}); err != nil {
		return unknownBecause(err)
	}
	var operators []string
	for i := range list.Items {
		operator := &list.Items[i]
		image := unknownText
		if containers := operator.Spec.Template.Spec.Containers; len(containers) > 0 {
			image = containers[0].Image
		}
		operators = append(operators, fmt.Sprintf("%s in the namespace %s, %d of %d ready", image, operator.Namespace,
			operator.Status.ReadyReplicas, ptr.Deref(operator.Spec.Replicas, 1)))
	}
	return cmp.Or(strings.Join(operators, "; "), "none found")
}

func unknownBecause(err error) string { return "unknown: " + explain(err) }

func (o *overview) addEvents(ctx context.Context, c *cluster, mc *cachev1alpha1.Memcached) {
	events, err := c.events(ctx, mc)
	if err != nil {
		o.Events = []eventReport{{Message: unknownBecause(err)}}
		return
	}
	for i := range events[max(0, len(events)-lastEvents):] {
		event := &events[max(0, len(events)-lastEvents)+i]
		o.Events = append(o.Events, eventReport{
			Time: lastSeen(event).UTC(), Type: event.Type, Reason: event.Reason,
			Object: event.InvolvedObject.Kind + "/" + event.InvolvedObject.Name, Message: event.Message,
		})
	}
}

func (o *overview) rows() [][]cell {
	var rows [][]cell
	for _, line := range [][2]string{
		{"Image", o.Image},
		{"Memory", o.Memory},
		{"Addresses", o.Addresses},
		{"TLS", o.TLS},
		{"Users", o.Users},
		{"Monitoring", o.Monitoring},
		{"Budget", o.Budget},
		{"Operator", o.Operator},
		{"Twins", o.Twins},
	} {
		if line[1] == "" {
			continue
		}
		rows = append(rows, texts([]string{"  " + line[0], line[1]}))
	}
	return rows
}

func (o *overview) eventRows(now time.Time) [][]cell {
	if len(o.Events) == 0 {
		return nil
	}
	rows := [][]cell{texts([]string{"EVENT", "AGE", "OBJECT", "MESSAGE"})}
	for _, event := range o.Events {
		reason, seen := cell{text: cmp.Or(event.Reason, unknownText)}, unknownText
		if event.Type == corev1.EventTypeWarning {
			reason.color = yellow
		}
		if !event.Time.IsZero() {
			seen = duration.HumanDuration(now.Sub(event.Time))
		}
		rows = append(rows, []cell{reason, text(seen), text(cmp.Or(event.Object, unknownText)), text(event.Message)})
	}
	return rows
}
