// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcache"
)

const formatTable = "table"

type statusCommand struct {
	*session

	output     outputFlag
	everywhere bool
	watch      bool
	interval   time.Duration
	// namespace is the namespace of the cluster connection. It is empty before the command has connected.
	namespace string
}

const statusLong = `Show what is inside the caches of a namespace, or the nodes of one cache.

Each node is asked twice: GETS/S, HIT-RATIO and EVICTIONS/S are those of the interval in between. With
--interval=0 it is asked once, and the rates are averages since its memcached started. SINCE-START is the
hit ratio since then. TOTAL counts the nodes that are ready. A node that does not answer has a row that says
why. The exit code is 1 if a cache is to have nodes and none of them answers, except with --watch.

For one cache, the head says what it is, and the last events what happened. What you may not read is named.
For nodes with TLS or users, a second table has what their agents report: the certificate that memcached
serves, whether it has read what the Secrets hold, and why it must be restarted. For nodes with
spec.fillFrom, another one has what they got from their twins. The last one has the MemcachedProxies that
lead to the cache. Below are the problems of certificates and Secrets, with their remedy.`

const statusExamples = `  # Every cache of the namespace, in a row each
  kubectl memcached status

  # The nodes of a cache, and their total
  kubectl memcached status sessions

  # The same every five seconds
  kubectl memcached status sessions --watch --interval=5s

  # Every cache of the cluster, for a program
  kubectl memcached status --all-namespaces --output=json`

func newStatusCommand(s *session) *cobra.Command {
	o := &statusCommand{session: s}
	command := &cobra.Command{
		Use:               "status [NAME]",
		Short:             "Show nodes, items, memory, hit ratio and evictions",
		Long:              statusLong,
		Example:           statusExamples,
		Args:              between(0, "NAME"),
		ValidArgsFunction: s.completeNames,
		RunE:              o.run,
	}
	o.output.bind(command, "Output format: table, json or yaml", formatTable, formatJSON, formatYAML)
	flags := command.Flags()
	flags.BoolVarP(&o.everywhere, "all-namespaces", "A", false, "Show the caches of all namespaces")
	flags.BoolVarP(&o.watch, "watch", "w", false, "Show it again and again, until interrupted")
	flags.DurationVar(&o.interval, "interval", time.Second, "How long to measure rates; 0 asks once")
	return command
}

func (o *statusCommand) run(command *cobra.Command, args []string) error {
	if err := o.validate(command, args); err != nil {
		return err
	}
	c, err := o.connect(o.session)
	if err != nil {
		return err
	}
	o.namespace = c.namespace
	for ctx := command.Context(); ; {
		reports, err := o.look(ctx, c, args)
		if ctx.Err() != nil && o.watch {
			return nil // an interrupt is the normal end of --watch
		}
		if err != nil {
			return err
		}
		if err := o.show(reports, o.proxyReports(ctx, c, args), len(args) > 0); err != nil {
			return err
		}
		if !o.watch {
			return silent(reports)
		}
	}
}

// silent returns an error that names each cache whose size is above 0, but of which no node answers.
func silent(reports []cacheReport) error {
	var names []error
	for i := range reports {
		r := &reports[i]
		answers := slices.ContainsFunc(r.Nodes, func(node nodeReport) bool { return node.Figures != nil })
		if r.Size > 0 && !answers {
			names = append(names, fmt.Errorf("%s/%s: no node answers with its figures", r.Namespace, r.Name))
		}
	}
	return errors.Join(names...)
}

func (o *statusCommand) validate(command *cobra.Command, args []string) error {
	switch {
	case o.everywhere && len(args) > 0:
		return misuse(command, "NAME and --all-namespaces exclude each other")
	case o.watch && o.interval <= 0:
		return misuse(command, "--watch needs an interval")
	}
	return o.output.validate(command)
}

// look reports on the Memcached that args name or, without args, on all Memcacheds. The reports have the statistics of the nodes.
func (o *statusCommand) look(ctx context.Context, c *cluster, args []string) ([]cacheReport, error) {
	var caches []cachev1alpha1.Memcached
	if len(args) > 0 {
		mc, err := c.memcached(ctx, args[0])
		if err != nil {
			return nil, err
		}
		caches = []cachev1alpha1.Memcached{*mc}
	} else {
		var err error
		if caches, err = c.memcacheds(ctx, o.everywhere); err != nil {
			return nil, err
		}
	}
	podsOf := make([][]corev1.Pod, len(caches))
	var all []corev1.Pod
	for i := range caches {
		pods, err := c.pods(ctx, &caches[i])
		if err != nil {
			return nil, err
		}
		podsOf[i] = withoutReplaced(pods, caches[i].Spec.Size)
		all = append(all, podsOf[i]...)
	}
	nodes := o.measure(ctx, c, all)
	reports := make([]cacheReport, len(caches))
	for i := range caches {
		reports[i] = reportOf(&caches[i], nodes[:len(podsOf[i])])
		nodes = nodes[len(podsOf[i]):]
	}
	if len(args) > 0 {
		reports[0].Overview = overviewOf(ctx, c, &caches[0], all)
		reports[0].Problems = o.problems(ctx, c, &caches[0], all)
		o.addFills(ctx, c, &caches[0], all, reports[0].Nodes)
	}
	return reports, nil
}

// measure asks each memcached twice, with the interval in between, or once if the interval is 0. It also reads the series of agents.
func (o *statusCommand) measure(ctx context.Context, c *cluster, pods []corev1.Pod) []nodeReport {
	session := *o.session
	session.nodeTimeout += o.interval
	measured := make([]*figures, len(pods))
	agents := make([]readings, len(pods))
	var scrapes sync.WaitGroup
	scrapes.Go(func() {
		atOnce(len(pods), func(i int) { agents[i] = o.seriesTwice(ctx, c, &pods[i]) })
	})
	failures := session.askEach(ctx, c, pods, func(i int) question {
		return func(ctx context.Context, conn *memcache.Conn) error {
			var err error
			measured[i], _, err = o.figuresTwice(ctx, conn, o.interval)
			return err
		}
	})
	scrapes.Wait()
	nodes := make([]nodeReport, len(pods))
	for i := range pods {
		nodes[i] = nodeReportOf(&pods[i], measured[i], failures[i])
		nodes[i].addSeries(agents[i], failures[i])
	}
	return nodes
}

// figuresTwice asks memcached twice, with the interval in between, or once if the interval is 0. It also returns the last statistics.
func (s *session) figuresTwice(ctx context.Context, conn *memcache.Conn, interval time.Duration) (*figures, map[string]string, error) {
	stats, err := conn.Stats(ctx)
	if err != nil {
		return nil, nil, err
	}
	first := figuresOf(stats)
	if interval <= 0 {
		return &first, stats, nil
	}
	begin := s.clock.Now()
	select {
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	case <-s.clock.After(interval):
	}
	if stats, err = conn.Stats(ctx); err != nil {
		return nil, nil, err
	}
	second := withRates(figuresOf(stats), first, s.clock.Since(begin))
	return &second, stats, nil
}

// readings are the series of an agent, and its series after an interval. Either is nil if it was not read.
type readings struct {
	first, second series
	interval      time.Duration
}

// seriesTwice reads the series of a pod's agent. A memcached with users shows its statistics only after a login. So for the rates,
// seriesTwice reads the series of such a node again after the interval.
func (o *statusCommand) seriesTwice(ctx context.Context, c *cluster, pod *corev1.Pod) (read readings) {
	if read.first = o.seriesOf(ctx, c, pod); read.first == nil || o.interval <= 0 || !hasUsers(pod) {
		return read
	}
	begin := o.clock.Now()
	select {
	case <-ctx.Done():
		return read
	case <-o.clock.After(o.interval):
	}
	read.second = o.seriesOf(ctx, c, pod)
	read.interval = o.clock.Since(begin)
	return read
}

// show writes the reports. If the argument one is true, there is a single report, and show writes it in detail.
func (o *statusCommand) show(reports []cacheReport, proxies []proxyReport, one bool) error {
	if one {
		reports[0].Proxies = proxies
	}
	switch {
	case o.output.value != formatTable && one:
		return o.writeDocument(o.output.value, reports[0])
	case o.output.value != formatTable:
		return o.writeDocument(o.output.value, map[string]any{"items": reports, "proxies": append([]proxyReport{}, proxies...)})
	}
	if o.watch {
		if isTerminal(o.Out) {
			fmt.Fprint(o.Out, "\033[H\033[2J")
		}
		fmt.Fprintln(o.Out, o.clock.Now().Format(time.DateTime))
	}
	if one {
		o.showOne(&reports[0])
	} else {
		o.showAll(reports, proxies)
	}
	return nil
}

func (o *statusCommand) showAll(reports []cacheReport, proxies []proxyReport) {
	switch {
	case len(reports) == 0 && o.everywhere:
		fmt.Fprintln(o.ErrOut, "No Memcached found.")
	case len(reports) == 0:
		fmt.Fprintf(o.ErrOut, "No Memcached found in the namespace %s.\n", o.namespace)
	default:
		writeTable(o.Out, o.colored(), listRows(reports, o.everywhere))
	}
	if rows := proxyRows(proxies, o.everywhere); rows != nil {
		fmt.Fprintln(o.Out)
		writeTable(o.Out, o.colored(), rows)
	}
}

func (o *statusCommand) showOne(r *cacheReport) {
	fmt.Fprintln(o.Out, printable(r.headline()))
	writeTable(o.Out, false, r.Overview.rows())
	now := o.clock.Now()
	for _, rows := range [][][]cell{r.rows(), r.credentialRows(now), r.fillRows(), proxyRows(r.Proxies, false), r.Overview.eventRows(now)} {
		if rows != nil {
			fmt.Fprintln(o.Out)
			writeTable(o.Out, o.colored(), rows)
		}
	}
	for i, problem := range r.Problems {
		if i == 0 {
			fmt.Fprintln(o.Out)
		}
		writeTable(o.Out, o.colored(), [][]cell{{{problem, red}}})
	}
}
