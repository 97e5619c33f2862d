// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/internal/memcached"
)

type statusCommand struct {
	*session

	interval time.Duration
}

const statusLong = `Show what is inside a cache or, without NAME, inside each cache of the namespace.

Each node is asked twice: GETS/S, HIT-RATIO and EVICTIONS/S are those of the interval in between.
SINCE-START is the hit ratio since memcached started. TOTAL counts the nodes that are ready. A node that does
not answer has a row that says why. The exit code is 1 if a cache is to have nodes and none of them answers.

A table of the conditions that tell of a problem or a change follows if there are any. A last line says when
evictions, the age of what is evicted and the hit ratio ask for more memory: look at the busiest hour, with
--interval=1m.`

const statusExamples = `  # The nodes of a cache, and their total
  kubectl memcached status sessions

  # Every cache of the namespace, for a program
  kubectl memcached status --output=json`

func newStatusCommand(s *session) *cobra.Command {
	o := &statusCommand{session: s}
	command := &cobra.Command{
		Use:     "status [NAME]",
		Short:   "Show nodes, versions, memory, hit ratio and problems",
		Long:    statusLong,
		Example: statusExamples,
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(command *cobra.Command, args []string) error { return o.run(command.Context(), args) },
	}
	s.bindOutput(command)
	command.Flags().DurationVar(&o.interval, "interval", time.Second, "How long to measure rates")
	return command
}

type nodeReport struct {
	Name string `json:"name"`
	// State is Ready, NotReady, Terminating, or why memcached does not run.
	State string `json:"state"`
	// Figures is nil if the node has not answered. Problem then says why.
	Figures *figures `json:"figures,omitempty"`
	Problem string   `json:"problem,omitempty"`
}

type cacheReport struct {
	Namespace string                     `json:"namespace"`
	Name      string                     `json:"name"`
	Workload  cachev1alpha1.WorkloadKind `json:"workload"`
	// Size is how many nodes all copies are to have.
	Size int32 `json:"size"`
	// ReadyNodes counts the nodes whose State is Ready.
	ReadyNodes int32 `json:"readyNodes"`
	// Address and Proxies are those in the status, empty without proxies.
	Address string                                `json:"address,omitempty"`
	Proxies *cachev1alpha1.MemcachedProxiesStatus `json:"proxies,omitempty"`
	// Status is the reason of the condition Ready.
	Status string `json:"status"`
	// Conditions are those that tell of a problem or a change.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	Nodes      []nodeReport       `json:"nodes"`
	// Total sums up the ready nodes. It is nil if none of them has answered.
	Total *figures `json:"total,omitempty"`
	// Memory says why the cache needs more memory. It is empty if nothing speaks for it.
	Memory string `json:"memory,omitempty"`
}

func (o *statusCommand) run(ctx context.Context, args []string) error {
	if o.interval <= 0 {
		return fmt.Errorf("--interval is %s, but must be positive", o.interval)
	}
	c, err := o.connect(o.session)
	if err != nil {
		return err
	}
	var caches []cachev1alpha1.Memcached
	if len(args) == 0 {
		caches, err = c.memcacheds(ctx)
	} else {
		caches = make([]cachev1alpha1.Memcached, 1)
		err = c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: args[0]}, &caches[0])
	}
	if err != nil {
		return err
	}
	if len(caches) == 0 {
		fmt.Fprintln(o.ErrOut, "No Memcached found in the namespace "+c.namespace)
	}
	reports, failures := make([]cacheReport, len(caches)), make([]error, len(caches))
	var measuring sync.WaitGroup
	for i := range caches {
		measuring.Go(func() { reports[i], failures[i] = o.measure(ctx, c, &caches[i]) })
	}
	measuring.Wait()
	if err := errors.Join(failures...); err != nil {
		return err
	}
	err = o.print(map[string]any{"items": reports}, func() error {
		for i := range reports {
			failures[i] = o.printCache(&reports[i])
		}
		return errors.Join(failures...)
	})
	return cmp.Or(err, silent(reports))
}

// measure asks the nodes of a cache twice, with the interval in between.
func (o *statusCommand) measure(ctx context.Context, c *cluster, mc *cachev1alpha1.Memcached) (cacheReport, error) {
	pods, err := c.pods(ctx, mc)
	if err != nil {
		return cacheReport{}, err
	}
	before, after := make([]reading, len(pods)), make([]reading, len(pods))
	begin := o.clock.Now()
	failedBefore := o.askEach(ctx, c, mc, pods, func(i int) question { return before[i].read })
	select {
	case <-ctx.Done():
		return cacheReport{}, context.Cause(ctx)
	case <-o.clock.After(o.interval):
	}
	interval := o.clock.Since(begin)
	failures := o.askEach(ctx, c, mc, pods, func(i int) question { return after[i].read })
	nodes := make([]nodeReport, len(pods))
	for i := range pods {
		nodes[i] = nodeReport{Name: pods[i].Name, State: stateOf(&pods[i])}
		if failures[i] != nil {
			nodes[i].Problem = unreachable(failures[i])
			continue
		}
		if failedBefore[i] != nil {
			before[i] = after[i] // the rates are unknown
		}
		nodes[i].Figures = figuresOf(before[i], after[i], interval)
	}
	return reportOf(mc, nodes), nil
}

func (r *reading) read(ctx context.Context, conn *memcache.Conn) (err error) {
	if r.stats, err = conn.Stats(ctx); err == nil {
		r.items, err = conn.Stats(ctx, "items")
	}
	return err
}

func reportOf(mc *cachev1alpha1.Memcached, nodes []nodeReport) cacheReport {
	report := cacheReport{
		Namespace: mc.Namespace, Name: mc.Name, Workload: memcached.WorkloadKind(mc),
		Size:    mc.Spec.Size * int32(memcached.Copies(mc)), //nolint:gosec // at most 3
		Address: mc.Status.Address, Proxies: mc.Status.Proxies,
		Status: readyReason(mc.Status.Conditions), Conditions: problemsOf(mc.Status.Conditions), Nodes: nodes, Total: total(nodes),
	}
	report.Memory = report.Total.advice()
	for i := range nodes {
		if nodes[i].State == stateReady {
			report.ReadyNodes++
		}
	}
	return report
}

func readyReason(conditions []metav1.Condition) string {
	if ready := apimeta.FindStatusCondition(conditions, cachev1alpha1.ConditionReady); ready != nil {
		return ready.Reason
	}
	return "Unknown"
}

// problemsOf returns the conditions that tell of a problem or a change, each reason once.
func problemsOf(conditions []metav1.Condition) (told []metav1.Condition) {
	seen := map[string]bool{cachev1alpha1.ReasonAllNodesReady: true, cachev1alpha1.ReasonAsExpected: true}
	for _, c := range conditions {
		if !seen[c.Reason] {
			seen[c.Reason] = true
			told = append(told, c)
		}
	}
	return told
}

// silent returns an error that names each cache whose size is above 0, but of which no node answers. A demand for a login is an answer.
func silent(reports []cacheReport) error {
	var names []error
	for i := range reports {
		r := &reports[i]
		if r.Size > 0 && !slices.ContainsFunc(r.Nodes, func(node nodeReport) bool {
			return node.Figures != nil || node.Problem == loginDemanded
		}) {
			names = append(names, fmt.Errorf("%s/%s: no node answers", r.Namespace, r.Name))
		}
	}
	return errors.Join(names...)
}

// printCache writes the report on a cache.
func (o *statusCommand) printCache(r *cacheReport) error {
	fmt.Fprintf(o.Out, "%s/%s: %d of %d nodes ready, %s, %s\n", r.Namespace, r.Name, r.ReadyNodes, r.Size, r.Workload, r.Status)
	if r.Proxies != nil {
		fmt.Fprintf(o.Out, "Address %s: %d of %d proxies ready, which lead to %d nodes\n", r.Address, r.Proxies.Ready, r.Proxies.Size,
			r.Proxies.Nodes)
	}
	var nodes, conditions [][]string
	for i := range r.Nodes {
		node := &r.Nodes[i]
		nodes = append(nodes, slices.Concat([]string{node.Name, node.State}, node.Figures.cells(), []string{node.Problem}))
	}
	nodes = append(nodes, slices.Concat([]string{"TOTAL", ""}, r.Total.cells(), []string{""}))
	for _, c := range r.Conditions {
		conditions = append(conditions, []string{c.Type, c.Reason, c.Message})
	}
	for _, table := range []struct {
		header []string
		rows   [][]string
	}{
		{slices.Concat([]string{"NODE", "STATE"}, figureHeader, []string{"PROBLEM"}), nodes},
		{[]string{"CONDITION", "REASON", "MESSAGE"}, conditions},
	} {
		if len(table.rows) == 0 {
			continue
		}
		fmt.Fprintln(o.Out)
		if err := o.printTable(table.header, table.rows); err != nil {
			return err
		}
	}
	if r.Memory != "" {
		fmt.Fprintln(o.Out, "\nMemory: "+r.Memory)
	}
	fmt.Fprintln(o.Out)
	return nil
}
