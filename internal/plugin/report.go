// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

type nodeReport struct {
	Name string `json:"name"`
	// State is Ready, NotReady, Terminating, or why memcached does not run.
	State   string `json:"state"`
	Address string `json:"address,omitempty"`
	// ClusterNode is the name of the Kubernetes node.
	ClusterNode string `json:"clusterNode,omitempty"`
	// Restarts counts the restarts of the memcached container.
	Restarts int32 `json:"restarts"`
	// Figures is nil if the node has not answered.
	Figures *figures `json:"figures,omitempty"`
	// Credentials is nil if the node has neither TLS nor users, or if its agent has not answered.
	Credentials *credentialsReport `json:"credentials,omitempty"`
	// Fill describes the copy of items from the twin (spec.fillFrom). It is present only in the report on a single cache, and only if the
	// node's launcher reports a copy or does not answer.
	Fill *fillReport `json:"fill,omitempty"`
	// Problem says why memcached has not answered.
	Problem string `json:"problem,omitempty"`
}

func nodeReportOf(pod *corev1.Pod, measured *figures, failure error) nodeReport {
	node := nodeReport{Name: pod.Name, State: stateOf(pod), Address: pod.Status.PodIP, ClusterNode: pod.Spec.NodeName}
	for _, container := range pod.Status.ContainerStatuses {
		if container.Name == memcached.ContainerName {
			node.Restarts = container.RestartCount
		}
	}
	switch {
	case errors.Is(failure, errAuthentication):
		node.Problem = "memcached demands a login, and the agent gives no statistics"
	case failure != nil:
		node.Problem = unreachable(failure)
	default:
		node.Figures = measured
	}
	return node
}

type cacheReport struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Status is the reason of the condition Ready. Message explains it if the condition is not True.
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
	// Attention is the reason and the message of the condition NeedsAttention, or empty if there is none.
	Attention string `json:"attention,omitempty"`
	Size      int32  `json:"size"`
	// ReadyNodes counts the nodes whose State is Ready.
	ReadyNodes int32                      `json:"readyNodes"`
	Workload   cachev1alpha1.WorkloadKind `json:"workload"`
	// Overview is set only in the report on a single cache.
	Overview *overview    `json:"overview,omitempty"`
	Nodes    []nodeReport `json:"nodes"`
	// Total sums up the ready nodes. It is nil if none of them has answered.
	Total *figures `json:"total,omitempty"`
	// Proxies are the proxies that have the cache as a pool. They are set only in the report on a single cache.
	Proxies []proxyReport `json:"proxies,omitempty"`
	// Problems are what the agents of the nodes report, with remedies. They are set only in the report on a single cache.
	Problems []string `json:"problems,omitempty"`
}

// statusUnknown is the status of a resource without the condition Ready, because the operator has not seen the resource yet.
const statusUnknown = "Unknown"

func reportOf(mc *cachev1alpha1.Memcached, nodes []nodeReport) cacheReport {
	report := cacheReport{
		Namespace: mc.Namespace, Name: mc.Name,
		Status: statusUnknown, Message: "the operator has not seen it yet",
		Size: mc.Spec.Size, Workload: cmp.Or(mc.Spec.Workload, cachev1alpha1.WorkloadDeployment),
		Nodes: nodes, Total: total(nodes),
	}
	for i := range nodes {
		if nodes[i].State == stateReady {
			report.ReadyNodes++
		}
	}
	if ready := apimeta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady); ready != nil {
		report.Status, report.Message = ready.Reason, ""
		if ready.Status != metav1.ConditionTrue {
			report.Message = ready.Message
		}
	}
	if attention := apimeta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionNeedsAttention); attention != nil {
		report.Attention = attention.Reason + ": " + attention.Message
	}
	return report
}

func (r *cacheReport) headline() string {
	line := fmt.Sprintf("%s/%s: %d of %d nodes ready, %s, %s", r.Namespace, r.Name, r.ReadyNodes, r.Size, r.Workload, r.Status)
	if r.Message != "" {
		line += ": " + r.Message
	}
	return line
}

var figureHeader = []string{"VERSION", "UPTIME", "ITEMS", "MEMORY", "GETS/S", "HIT-RATIO", "SINCE-START", "EVICTIONS/S", "CONNECTIONS"}

func (f *figures) cells() []cell {
	if f == nil {
		cells := make([]cell, len(figureHeader))
		for i := range cells {
			cells[i] = text(unknownText)
		}
		return cells
	}
	return []cell{
		text(f.Version), text(age(f.UptimeSeconds)), text(strconv.FormatInt(f.Items, 10)),
		text(mebibytes(f.MemoryBytes) + "/" + mebibytes(f.MemoryLimitBytes)), text(perSecond(f.GetsPerSecond)),
		text(percent(f.HitRatioNow)), text(percent(f.HitRatio)),
		text(perSecond(f.EvictionsPerSecond)), text(strconv.FormatInt(f.Connections, 10)),
	}
}

// rows returns a table of the nodes of a cache and their total. It omits the column PROBLEM if no node has a problem.
func (r *cacheReport) rows() [][]cell {
	rows := [][]cell{append(texts([]string{"NODE", "STATE", "CLUSTER-NODE", "RESTARTS"}), texts(figureHeader)...)}
	for i := range r.Nodes {
		node := &r.Nodes[i]
		row := []cell{
			text(node.Name),
			{node.State, stateColor(node.State)},
			text(cmp.Or(node.ClusterNode, unknownText)),
			text(strconv.Itoa(int(node.Restarts))),
		}
		row = append(row, node.Figures.cells()...)
		rows = append(rows, append(row, cell{node.Problem, red}))
	}
	return withoutEmptyColumn(append(rows, append(texts([]string{"TOTAL", "", "", ""}), r.Total.cells()...)), "PROBLEM")
}

// listRows returns a table with a row for each cache.
func listRows(reports []cacheReport, namespaces bool) [][]cell {
	header := append([]cell{text("NAME"), text("READY"), text("STATUS")}, texts(figureHeader)...)
	if namespaces {
		header = append([]cell{text("NAMESPACE")}, header...)
	}
	rows := [][]cell{header}
	for i := range reports {
		report := &reports[i]
		var row []cell
		if namespaces {
			row = []cell{text(report.Namespace)}
		}
		row = append(row, text(report.Name), text(fmt.Sprintf("%d/%d", report.ReadyNodes, report.Size)),
			cell{report.Status, statusColor(report)})
		row = append(row, report.Total.cells()...)
		rows = append(rows, append(row, cell{cmp.Or(report.problem(), report.Attention), red}))
	}
	return withoutEmptyColumn(rows, "PROBLEM")
}

// problem says how many nodes have not answered. If all of them have the same problem, it quotes this problem.
func (r *cacheReport) problem() string {
	silent, problem := 0, ""
	for i := range r.Nodes {
		switch reason := r.Nodes[i].Problem; {
		case reason == "":
			continue
		case silent > 0 && reason != problem:
			problem = "several problems, see status " + r.Name
		default:
			problem = reason
		}
		silent++
	}
	if silent == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d nodes: %s", silent, len(r.Nodes), problem)
}

// withoutEmptyColumn removes the last column, which has no header yet, if the column is empty. Otherwise, it adds the header.
func withoutEmptyColumn(rows [][]cell, header string) [][]cell {
	width, used := len(rows[0]), false
	for _, row := range rows[1:] {
		used = used || len(row) > width && row[width].text != ""
	}
	if used {
		rows[0] = append(rows[0], text(header))
		return rows
	}
	for i := range rows {
		rows[i] = rows[i][:width]
	}
	return rows
}

func texts(values []string) []cell {
	cells := make([]cell, len(values))
	for i, value := range values {
		cells[i] = text(value)
	}
	return cells
}

func stateColor(state string) color {
	switch state {
	case stateReady:
		return green
	case stateNotReady, stateTerminating, string(corev1.PodPending), "ContainerCreating":
		return yellow
	default:
		return red
	}
}

func statusColor(report *cacheReport) color {
	switch {
	case report.Message == "":
		return green
	case report.ReadyNodes >= report.Size: // a replacement may start extra nodes
		return yellow
	default:
		return red
	}
}
