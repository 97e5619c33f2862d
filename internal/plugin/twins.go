// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/ask"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// fillReport describes the copy of items from the twin (spec.fillFrom), as the launcher of a node reports it. If the launcher does
// not answer, only Problem is set.
type fillReport struct {
	*protocol.Fill

	Problem string `json:"problem,omitempty"`
}

// twinsOf names the cache that fills the nodes of mc, and the caches whose nodes mc fills.
func twinsOf(ctx context.Context, c *cluster, mc *cachev1alpha1.Memcached) string {
	var twins []string
	if name := memcached.FillsFrom(mc); name != "" {
		twins = append(twins, "filled from "+name)
	}
	caches, err := c.memcacheds(ctx, false)
	for i := range caches {
		if memcached.FillsFrom(&caches[i]) == mc.Name {
			twins = append(twins, "fills "+caches[i].Name)
		}
	}
	if err != nil {
		twins = append(twins, unknownBecause(err))
	}
	return strings.Join(twins, ", ")
}

// addFills adds to nodes what their launchers report about the copy of items from the twin. Without a twin, it does nothing.
func (s *session) addFills(ctx context.Context, c *cluster, mc *cachev1alpha1.Memcached, pods []corev1.Pod, nodes []nodeReport) {
	if memcached.FillsFrom(mc) == "" {
		return
	}
	atOnce(len(pods), func(i int) {
		if !runs(&pods[i]) {
			return
		}
		limited, cancel := context.WithTimeoutCause(ctx, s.nodeTimeout, errNoAnswer)
		defer cancel()
		status, err := ask.NewWith(transportTo(c, &pods[i], memcached.LauncherPort)).Launcher(limited, "launcher", memcached.LauncherPort)
		switch {
		case err != nil:
			nodes[i].Fill = &fillReport{Problem: "its launcher does not say what it has: " + explain(err)}
		case status.Fill != nil:
			nodes[i].Fill = &fillReport{Fill: status.Fill}
		}
	})
}

// fillRows returns a table of the nodes' fillReports, or nil if there are none.
func (r *cacheReport) fillRows() [][]cell {
	rows := [][]cell{texts([]string{"NODE", "FILL", "FROM", "COPIED", "PRESENT", "REFUSED", "PROBLEM"})}
	for i := range r.Nodes {
		if fill := r.Nodes[i].Fill; fill != nil {
			rows = append(rows, append([]cell{text(r.Nodes[i].Name)}, fill.cells()...))
		}
	}
	if len(rows) == 1 {
		return nil
	}
	return withoutEmptyColumn(rows, "PROBLEM")
}

func (f *fillReport) cells() []cell {
	if f.Fill == nil {
		cells := texts([]string{unknownText, unknownText, unknownText, unknownText, unknownText})
		return append(cells, cell{f.Problem, red})
	}
	state := cell{string(f.State), yellow}
	if !f.Open() {
		state.color = green
	}
	if f.State == protocol.FillFailed {
		state.color = red
	}
	return []cell{
		state, text(f.From), text(fmt.Sprint(f.Items)), text(fmt.Sprint(f.Present)), text(fmt.Sprint(f.Refused)), {f.Reason, red},
	}
}
