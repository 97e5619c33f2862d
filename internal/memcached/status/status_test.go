// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// noon is the current time in the tests.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// statusCase is a row of the truth table: facts, and the conditions that must follow, each as "Status Reason: message". By
// default, a row expects three ready nodes, no change and no problem. If a row has pods but no workload, the method complete adds
// a settled Deployment.
type statusCase struct {
	name string
	mc   *cachev1alpha1.Memcached
	// before is the Deployment before a write, or nil if there was no write. deployment is the Deployment after the write.
	before     *appsv1.Deployment
	deployment *appsv1.Deployment
	// others are objects in addition to the Deployment, or instead of it.
	others  []client.Object
	pods    []corev1.Pod
	written memcached.Written
	answers memcached.Answers
	// planned changes the plan, unless it is nil.
	planned func(*memcached.Plan)
	// agents are the reports of the agents. attention is the expected condition NeedsAttention, empty for none.
	agents    memcached.AgentReports
	attention string

	ready, available, progressing, degraded string
	// Each of these is a "Reason: message" that two conditions share: Ready and Progressing share changing, and Ready and Degraded share
	// trouble or stuck. With stuck, Progressing says that the change cannot continue.
	changing, trouble, stuck string
}

const (
	allThreeReady = "True AllNodesReady: 3 of 3 nodes are ready"
	available3    = "True AsExpected: 3 of 3 nodes are ready"
	available2    = "True AsExpected: 2 of 3 nodes are ready"
	unavailable1  = "False NotReady: 1 of 3 nodes are ready, 2 are needed"
	unavailable0  = "False NotReady: 0 of 3 nodes are ready, 2 are needed"
	noReport      = "Unknown Creating: The cluster has not reported on the nodes yet"
	replacing     = "RollingOut: Replacing nodes, without their items: "
	complete      = "False AsExpected: No change is under way"
	asExpected    = "False AsExpected: Nothing prevents the desired state"
	seeDegraded   = "False Stuck: The change cannot continue: see the condition Degraded"
)

func rows(t *testing.T) []statusCase {
	var all []statusCase
	for _, rows := range [][]statusCase{
		creationRows(t), rolloutRows(t), scalingRows(t), steadyRows(t), pauseRows(t), deletionRows(t), stuckRows(t),
		refusalRows(), nodeRows(), priorityRows(t), acceptedRows(t), templateRows(t), failedPodRows(), statefulSetRows(t), orphanRows(t),
		attentionRows(),
	} {
		for _, row := range rows {
			all = append(all, row.complete(t))
		}
	}
	return all
}

// refusalRows have one refused object, with a different reason in each row, while all nodes run.
func refusalRows() (rows []statusCase) {
	for _, row := range table {
		if row.condition == degraded && row.status == is {
			rows = append(rows, statusCase{
				name: "refused: " + row.reason, pods: makePods(3), stuck: row.reason + ": because",
				written: memcached.Written{Problem: &memcached.Problem{Reason: row.reason, Message: "because"}},
			})
		}
	}
	return rows
}

func TestStatusTruthTable(t *testing.T) {
	for _, c := range rows(t) {
		t.Run(c.name, func(t *testing.T) {
			status := c.status(noon)
			got := map[string]string{}
			for _, condition := range status.Conditions {
				got[condition.Type] = string(condition.Status) + " " + condition.Reason + ": " + condition.Message
			}
			delete(got, cachev1alpha1.ConditionReconciling) // TestKstatusConditions checks these
			delete(got, cachev1alpha1.ConditionStalled)
			want := map[string]string{
				cachev1alpha1.ConditionReady:       c.ready,
				cachev1alpha1.ConditionAvailable:   c.available,
				cachev1alpha1.ConditionProgressing: c.progressing,
				cachev1alpha1.ConditionDegraded:    c.degraded,
			}
			if c.attention != "" {
				want[cachev1alpha1.ConditionNeedsAttention] = c.attention
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStatusOfEveryRow(t *testing.T) {
	for _, c := range rows(t) {
		t.Run(c.name, func(t *testing.T) {
			status := c.status(noon)
			if status.ObservedGeneration != memcachedtest.Generation {
				t.Errorf("observedGeneration is %d", status.ObservedGeneration)
			}
			for _, condition := range status.Conditions {
				if condition.ObservedGeneration != memcachedtest.Generation {
					t.Errorf("observedGeneration of %s is %d", condition.Type, condition.ObservedGeneration)
				}
				if condition.Reason == "" || condition.Message == "" || len([]rune(condition.Message)) > 1024 {
					t.Errorf("%s has reason %q and a message of %d bytes", condition.Type, condition.Reason, len(condition.Message))
				}
			}
			if isTrue(status, cachev1alpha1.ConditionReady) && isTrue(status, cachev1alpha1.ConditionDegraded) {
				t.Error("Ready and Degraded")
			}
			checkRepetitions(t, status)
			c.checkQuiet(t, status)
			c.checkOrder(t, status)
		})
	}
}

// checkRepetitions reports a message that more than two conditions have.
func checkRepetitions(t *testing.T, status cachev1alpha1.MemcachedStatus) {
	t.Helper()
	sentences := map[string][]string{}
	for _, condition := range status.Conditions {
		sentences[condition.Message] = append(sentences[condition.Message], condition.Type)
		if len(sentences[condition.Message]) > 2 {
			t.Errorf("%v say the same: %s", sentences[condition.Message], condition.Message)
		}
	}
}

// checkQuiet computes the status again from the stored status, as a new process does an hour later. The result must be the same,
// since any difference would cause a write. For a row with objects in others, it computes the status a minute later instead,
// because the operator considers a change of a StatefulSet stuck after ten minutes.
func (c statusCase) checkQuiet(t *testing.T, status cachev1alpha1.MemcachedStatus) {
	t.Helper()
	text, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	again := c
	again.mc, again.before = c.mc.DeepCopy(), nil
	again.mc.Status = cachev1alpha1.MemcachedStatus{}
	if err := json.Unmarshal(text, &again.mc.Status); err != nil {
		t.Fatal(err)
	}
	wait := time.Hour
	if c.others != nil {
		wait = time.Minute
	}
	if later := again.status(noon.Add(wait)); !equality.Semantic.DeepEqual(again.mc.Status, later) {
		t.Errorf("nothing happened, and the status is another (-first +again):\n%s", cmp.Diff(again.mc.Status, later))
	}
}

// checkOrder computes the status with the pods in other orders, because the operator's cache has no order.
func (c statusCase) checkOrder(t *testing.T, status cachev1alpha1.MemcachedStatus) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		shuffled := c
		shuffled.pods = append([]corev1.Pod(nil), c.pods...)
		random.Shuffle(len(shuffled.pods), func(i, j int) {
			shuffled.pods[i], shuffled.pods[j] = shuffled.pods[j], shuffled.pods[i]
		})
		if diff := cmp.Diff(status, shuffled.status(noon)); diff != "" {
			t.Fatalf("depends on the order of the pods (-first +shuffled):\n%s", diff)
		}
	}
}

func (c statusCase) status(now time.Time) cachev1alpha1.MemcachedStatus {
	observed := memcached.Observed{Children: append(memcachedtest.Children(c.deployment), c.others...), Pods: c.pods}
	if c.before != nil {
		observed.Children = memcachedtest.Children(c.before)
	}
	written := c.written
	written.Objects = []client.Object{c.deployment}
	view := memcached.NewView(c.mc, withService(c.mc, observed), now)
	view.Answers, view.Agents = c.answers, c.agents
	plan := desired.For(view, memcachedtest.Options)
	if c.planned != nil {
		c.planned(&plan)
	}
	return For(view, plan, written)
}

func isTrue(status cachev1alpha1.MemcachedStatus, conditionType string) bool {
	return conditionOf(status, conditionType).Status == metav1.ConditionTrue
}

func conditionOf(status cachev1alpha1.MemcachedStatus, conditionType string) metav1.Condition {
	for _, condition := range status.Conditions {
		if condition.Type == conditionType {
			return condition
		}
	}
	return metav1.Condition{}
}

func TestUnobserved(t *testing.T) {
	const failed = "False ApplyFailed: cannot get"
	known := func(mc *cachev1alpha1.Memcached) {
		mc.Status = cachev1alpha1.MemcachedStatus{
			ObservedGeneration: memcachedtest.Generation - 1, ReadyReplicas: 2, Nodes: []string{"cache-0", "cache-1"},
			Conditions: []metav1.Condition{
				{Type: "Available", Status: metav1.ConditionTrue, Reason: "AsExpected", Message: "2 of 2 nodes are ready"},
				{Type: "Progressing", Status: metav1.ConditionFalse, Reason: "AsExpected", Message: "No change is under way"},
				{Type: "NeedsAttention", Status: metav1.ConditionTrue, Reason: "InvalidSecret", Message: "it expires"}, // no agent was asked
			},
		}
	}
	for name, test := range map[string]struct {
		changes                                 []func(*cachev1alpha1.Memcached)
		ready, available, progressing, degraded string
	}{
		"never observed": {nil, failed, noReport, seeDegraded, "True ApplyFailed: cannot get"},
		"observed before": {
			[]func(*cachev1alpha1.Memcached){known},
			failed, "True AsExpected: 2 of 2 nodes are ready", seeDegraded,
			"True ApplyFailed: cannot get",
		},
		"paused": {
			[]func(*cachev1alpha1.Memcached){known, memcachedtest.Paused},
			failed, "True AsExpected: 2 of 2 nodes are ready",
			"False Paused: spec.paused holds back: what cannot be read. To resume: " +
				`kubectl patch memcached cache -n shop --type=merge -p '{"spec":{"paused":false}}'`,
			"True ApplyFailed: cannot get",
		},
	} {
		t.Run(name, func(t *testing.T) {
			mc := memcachedtest.Cache(3, test.changes...)
			got := Unobserved(memcached.NewView(mc, memcached.Observed{}, noon), memcached.Problem{Reason: "ApplyFailed", Message: "cannot get"})
			want := map[string]string{
				"Ready": test.ready, "Available": test.available, "Progressing": test.progressing, "Degraded": test.degraded,
				"Stalled": "True ApplyFailed: ApplyFailed: see the condition Ready",
			}
			if test.changes != nil {
				want["NeedsAttention"] = "True InvalidSecret: it expires"
			}
			texts := map[string]string{}
			for _, c := range got.Conditions {
				texts[c.Type] = string(c.Status) + " " + c.Reason + ": " + c.Message
			}
			if difference := cmp.Diff(want, texts); difference != "" {
				t.Errorf("-want +got:\n%s", difference)
			}
			got.Conditions, mc.Status.Conditions = nil, nil
			if difference := cmp.Diff(mc.Status, got); difference != "" {
				t.Errorf("what was known has changed: -want +got:\n%s", difference)
			}
		})
	}
}

// attentionRows have three ready nodes whose agents report problems or none. What is wrong with a Secret of a running cache is the reason of
// Ready too, which kubectl get shows.
func attentionRows() []statusCase {
	const tls, users = " of the Secret cache-tls (spec.tls.secretName)", " of the Secret cache-users (spec.auth.secretName)"
	report := func(pod string, reasons ...string) memcached.AgentReport {
		said := memcached.AgentReport{Pod: pod}
		for _, reason := range reasons {
			said.Problems = append(said.Problems, protocol.Problem{Reason: reason, Message: "because"})
		}
		return said
	}
	var rows []statusCase
	row := func(name, attention string, reports ...memcached.AgentReport) {
		rows = append(rows, statusCase{
			name: "attention: " + name, mc: memcachedtest.Cache(3, withSecrets), pods: makePods(3),
			agents: memcached.AgentReports{Nodes: reports}, attention: attention,
		})
	}
	for reason, told := range map[string]string{
		"InvalidCertificate": "InvalidSecret: Pod cache-1 says" + tls, "InvalidCredentials": "InvalidSecret: Pod cache-1 says" + users,
		"CertificateNames": "InvalidSecret: Pod cache-1 says" + tls, "CertificateExpiring": "CertificateExpiring: Pod cache-1 says" + tls,
		"ReloadFailed": "RestartRequired: Pod cache-1 says", "RestartRequired": "RestartRequired: Pod cache-1 says",
		"ConnectionLimit": "ConnectionLimit: Pod cache-1 says",
	} {
		row(reason, "True "+told+`: "because"`, report("cache-0"), report("cache-1", reason))
	}
	row("agents that report nothing", "", report("cache-0"), report("cache-1"))
	row("reasons that nobody knows", "", report("cache-0", "AllNodesReady", ""))
	row("users that are not used, on all nodes", "True InvalidSecret: Pod cache-0 and 2 more say"+users+`: "because"`,
		report("cache-0", "InvalidCredentials"), report("cache-1", "InvalidCredentials"), report("cache-2", "InvalidCredentials"))
	row("several, the worst first", "True InvalidSecret: Pod cache-1 says"+tls+`: "because". Also RestartRequired: Pod cache-0 says: "because". `+
		"Also CertificateExpiring: Pod cache-0 says"+tls+`: "because"`,
		report("cache-0", "RestartRequired", "CertificateExpiring"), report("cache-1", "CertificateNames"))
	row("words for a terminal, and too many", `True RestartRequired: Pod cache-0 says: "`+"\uFFFD"+`[31m' all is well `+strings.Repeat("x", 488)+`…"`,
		memcached.AgentReport{Pod: "cache-0", Problems: []protocol.Problem{
			{Reason: "ReloadFailed", Message: "\x1b[31m\" all is well\n" + strings.Repeat("x", 4000)},
		}})
	told := memcachedtest.Cache(3, withSecrets, func(mc *cachev1alpha1.Memcached) {
		mc.Status.Conditions = []metav1.Condition{{
			Type: cachev1alpha1.ConditionNeedsAttention, Status: metav1.ConditionTrue, Reason: "CertificateNames", Message: "as before",
		}}
	})
	return append(rows, statusCase{
		name: "attention: not all have been asked yet, as after a start of the operator", mc: told, pods: makePods(3),
		agents: memcached.AgentReports{Pending: true, Nodes: []memcached.AgentReport{{Pod: "cache-0"}}}, attention: "True CertificateNames: as before",
	}, statusCase{
		name: "attention: all have been asked", mc: told, pods: makePods(3), agents: memcached.AgentReports{Nodes: []memcached.AgentReport{{Pod: "cache-0"}}},
	}, statusCase{
		name: "attention: none are asked any more", mc: told, pods: makePods(3),
	})
}
