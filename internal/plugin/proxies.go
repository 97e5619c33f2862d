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

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

type proxyReport struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Pools     []string `json:"pools"`
	Address   string   `json:"address,omitempty"`
	Size      int32    `json:"size"`
	Ready     int32    `json:"readyProxies"`
	// Nodes is the number of nodes that the proxies use in each pool. At the time From, this number becomes Next.
	Nodes  *int32     `json:"nodes,omitempty"`
	Next   *int32     `json:"next,omitempty"`
	From   *time.Time `json:"from,omitempty"`
	Status string     `json:"status"`
	// Message is the message of the condition Ready. It is empty if the condition is True.
	Message string `json:"message,omitempty"`
}

func proxyReportOf(proxy *cachev1alpha1.MemcachedProxy) proxyReport {
	r := proxyReport{
		Namespace: proxy.Namespace, Name: proxy.Name, Address: proxy.Status.Address, Size: ptr.Deref(proxy.Spec.Size, 2),
		Ready: proxy.Status.ReadyReplicas, Pools: poolsOf(proxy), Status: statusUnknown,
	}
	if routes := proxy.Status.Routes; routes != nil {
		r.Nodes, r.Next = &routes.Nodes, routes.Next
		if routes.From != nil {
			r.From = ptr.To(routes.From.UTC())
		}
	}
	if ready := apimeta.FindStatusCondition(proxy.Status.Conditions, cachev1alpha1.ConditionReady); ready != nil {
		r.Status = ready.Reason
		if ready.Status != "True" {
			r.Message = ready.Message
		}
	}
	return r
}

func poolsOf(proxy *cachev1alpha1.MemcachedProxy) []string {
	var names []string
	for _, pool := range proxy.Spec.Pools {
		names = append(names, pool.Name)
	}
	return names
}

// proxies reads the MemcachedProxies of the namespace, or of all namespaces. It returns none if the cluster does not have this Kind.
func (c *cluster) proxies(ctx context.Context, everywhere bool) ([]cachev1alpha1.MemcachedProxy, error) {
	var list cachev1alpha1.MemcachedProxyList
	err := c.List(ctx, &list, c.within(everywhere))
	if apimeta.IsNoMatchError(err) {
		return nil, nil
	}
	slices.SortFunc(list.Items, func(a, b cachev1alpha1.MemcachedProxy) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), naturally(a.Name, b.Name))
	})
	return list.Items, err
}

// proxiesOf returns the proxies that have the Memcached with this name as a pool.
func (c *cluster) proxiesOf(ctx context.Context, name string) ([]cachev1alpha1.MemcachedProxy, error) {
	all, err := c.proxies(ctx, false)
	return slices.DeleteFunc(all, func(proxy cachev1alpha1.MemcachedProxy) bool { return !slices.Contains(poolsOf(&proxy), name) }), err
}

// copiesIn returns the proxy that has the Memcached as one of several pools, or nil if there is none. It also returns nil if the
// proxies cannot be read, because most caches have no such proxy.
func (c *cluster) copiesIn(ctx context.Context, name string) *cachev1alpha1.MemcachedProxy {
	proxies, err := c.proxiesOf(ctx, name)
	for i := range proxies {
		if err == nil && len(poolsOf(&proxies[i])) > 1 {
			return &proxies[i]
		}
	}
	return nil
}

// refuseKeys returns an error if a proxy may look for keys on other nodes than the commands that use --hash. A proxy with several pools
// keeps each key in all of them, and uses a hash that --hash does not offer. A proxy with one pool uses a new number of nodes two minutes
// after the change.
func (c *cluster) refuseKeys(ctx context.Context, mc *cachev1alpha1.Memcached) error {
	proxies, err := c.proxiesOf(ctx, mc.Name)
	if err != nil {
		return nil //nolint:nilerr // most caches have no proxy
	}
	for i := range proxies {
		proxy, remedy := &proxies[i], "get, set and delete keys through "+cmp.Or(proxies[i].Status.Address, "the proxy")
		if pools := poolsOf(proxy); len(pools) > 1 {
			return fmt.Errorf("the MemcachedProxy %s keeps each key in %s, on nodes that it chooses by a hash of its own: %s",
				proxy.Name, strings.Join(pools, ", "), remedy)
		}
		if routes, servers := proxy.Status.Routes, len(mc.Status.Servers); routes != nil && int(routes.Nodes) != servers {
			return fmt.Errorf("the MemcachedProxy %s spreads the keys over %d nodes, but status.servers has %d: %s",
				proxy.Name, routes.Nodes, servers, remedy)
		}
	}
	return nil
}

// proxyReports reports on all proxies, or on the proxies of the named cache. It prints an error if they cannot be read.
func (o *statusCommand) proxyReports(ctx context.Context, c *cluster, args []string) []proxyReport {
	var proxies []cachev1alpha1.MemcachedProxy
	var err error
	if len(args) > 0 {
		proxies, err = c.proxiesOf(ctx, args[0])
	} else {
		proxies, err = c.proxies(ctx, o.everywhere)
	}
	if err != nil {
		fmt.Fprintln(o.ErrOut, printable("MemcachedProxies are unknown: "+explain(err)))
	}
	var reports []proxyReport
	for i := range proxies {
		reports = append(reports, proxyReportOf(&proxies[i]))
	}
	return reports
}

// proxyRows returns a table of proxies, or nil if there are none.
func proxyRows(reports []proxyReport, namespaces bool) [][]cell {
	if len(reports) == 0 {
		return nil
	}
	header := []string{"PROXY", "READY", "STATUS", "POOLS", "NODES", "ADDRESS"}
	if namespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	rows := [][]cell{texts(header)}
	for i := range reports {
		r := &reports[i]
		var row []cell
		if namespaces {
			row = []cell{text(r.Namespace)}
		}
		row = append(row, text(r.Name), text(fmt.Sprintf("%d/%d", r.Ready, r.Size)), cell{r.Status, r.color()},
			text(strings.Join(r.Pools, ",")), text(r.nodes()), text(cmp.Or(r.Address, unknownText)))
		rows = append(rows, append(row, cell{r.Message, r.color()}))
	}
	return withoutEmptyColumn(rows, "MESSAGE")
}

func (r *proxyReport) color() color {
	switch {
	case r.Message == "" && r.Status != statusUnknown:
		return green
	case r.Ready == 0 && r.Size > 0:
		return red
	}
	return yellow
}

// nodes returns, as a text, the number of nodes that the proxies use in each pool, and the announced number with its time.
func (r *proxyReport) nodes() string {
	if r.Nodes == nil {
		return unknownText
	}
	nodes := fmt.Sprint(*r.Nodes)
	if r.Next != nil && r.From != nil {
		nodes += fmt.Sprintf(", %d from %s", *r.Next, r.From.Format("15:04:05 MST"))
	}
	return nodes
}

// addProxies collects the proxies of a cache, with their child objects, statistics and logs.
func (b *bundle) addProxies(ctx context.Context, cache string) {
	proxies, err := b.cluster.proxiesOf(ctx, cache)
	b.note(err, "the MemcachedProxies")
	for i := range proxies {
		proxy := &proxies[i]
		b.addObjects(ctx, "proxies/"+proxy.Name+"/", "memcachedproxy.yaml", proxy)
		var pods corev1.PodList
		err := b.cluster.List(ctx, &pods, client.InNamespace(proxy.Namespace), client.MatchingLabels{
			memcached.InstanceLabel: proxy.Name, memcached.ManagedByLabel: memcached.ManagedBy,
		})
		b.note(err, "the pods of the MemcachedProxy "+proxy.Name)
		b.addStatistics(ctx, pods.Items, "settings", "proxy", "proxybe")
		for j := range pods.Items {
			b.addLogs(ctx, &pods.Items[j], "logs", ours)
		}
	}
}
