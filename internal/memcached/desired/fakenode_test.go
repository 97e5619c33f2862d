// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// fakeNode simulates a pod with a launcher.
type fakeNode struct {
	ordinal  int
	uid      types.UID
	template *corev1.PodTemplateSpec
	// files is the content of the ConfigMap that the kubelet delivered last.
	files map[string]string

	// list is the argument list with which memcached runs. The field since is the second of the simulation from which the launcher
	// counts how long memcached has run with this list. ran reports that memcached has started at least once.
	list  protocol.List
	ran   bool
	since int64
	// next is the list with which memcached is being restarted, or nil.
	next    *protocol.List
	refused *protocol.Refusal
	// changed is how the pod differs from its template. pulling is the container whose image the kubelet cannot pull.
	changed changedPod
	pulling string
	// silent means that the launcher does not answer the operator. unready means that the pod does not serve.
	silent, unready bool
	// fills reports that the node copies items from its twin. filling counts the ticks until the copy is complete. late counts the
	// ticks for which the pod still looks ready meanwhile.
	fills         bool
	filling, late int
	// probed counts down after a restart of a container. At 2, the pod still looks ready because of earlier probes. At 1, the kubelet
	// reports that the containers have not started.
	probed int
	// unscheduled means that no cluster node has room for the pod.
	unscheduled bool
	// cutOff means that the cluster node has lost contact: the pod counts as not ready, and the launcher does not answer.
	cutOff bool
	// noQuota means that the kubelet applies no limits of CPUs (cpuCFSQuota: false).
	noQuota bool
	// served reports that the pod was ready at the last tick, and servedSince is the second since which it has been ready.
	served      bool
	servedSince int64
}

// available reports whether the pod has been ready for minReadySeconds.
func (n *fakeNode) available(now int64, minReadySeconds int32) bool {
	return n.ready() && (minReadySeconds == 0 || n.served && now-n.servedSince >= int64(minReadySeconds))
}

func (n *fakeNode) ready() bool {
	return n.ran && !n.unready && !n.cutOff && !n.unscheduled && n.pulling == "" && (n.filling == 0 || n.late > 0)
}

func (n *fakeNode) whole() bool { return n != nil && n.serves() && n.filling == 0 }

// empty lets a node that has a twin lose its items and begin to copy them from the twin. late is the number of ticks for which the
// pod still looks ready.
func (n *fakeNode) empty(late int) {
	if n.fills {
		n.filling, n.late = 4, late
	}
}

// serves reports whether the node actually serves. A pod can look ready during a short restart, and while the kubelet is late to
// begin one.
func (n *fakeNode) serves() bool {
	return n.ready() && n.next == nil && !n.changed.restarts() && n.probed != 1
}

func (n *fakeNode) pod(mc *cachev1alpha1.Memcached) corev1.Pod {
	pod := podOf(mc, n.ordinal, n.uid, n.template)
	pod.Status.PodIP = "10.0.0.1"
	if n.ready() {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(second(n.servedSince)),
		}}
	}
	if n.cutOff {
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
		}
	}
	n.change(&pod)
	return pod
}

func (n *fakeNode) answer(now int64) memcached.Answer {
	if n.silent || n.cutOff || !n.ran {
		return memcached.Answer{Failure: "connection refused"}
	}
	answer := memcached.Answer{Status: protocol.Status{
		Hash: n.list.Hash(), List: n.list.String(), SecondsInEffect: now - n.since, Refused: n.refused,
	}}
	if n.next != nil {
		answer.Restarting = n.next.Hash()
	}
	if n.fills {
		answer.Fill = &protocol.Fill{State: protocol.FillDone}
	}
	if n.filling > 0 {
		answer.Fill.State = protocol.FillWaiting
	}
	return answer
}

// tick lets the launcher take a step: it starts memcached, or begins or ends a restart. memcached cannot run with an argument list that
// contains the text in refused.
func (n *fakeNode) tick(now int64, refused string) {
	n.filling, n.late, n.probed = max(n.filling-1, 0), max(n.late-1, 0), max(n.probed-1, 0)
	if n.next != nil {
		list := *n.next
		n.next = nil
		n.empty(2)
		if refuses(list, refused) {
			n.refused = &protocol.Refusal{Hash: list.Hash(), Reason: "memcached ended with exit code 1."}
		} else {
			n.list, n.since, n.refused = list, now, nil
		}
		return
	}
	section, err := protocol.ParseSection(n.files[protocol.SectionKey(sectionOf(n.template))])
	if err != nil {
		return
	}
	hash := section.Nodes[n.ordinal]
	if hash == "" && !n.ran {
		hash = section.Default
	}
	list, err := protocol.ParseList(n.files[protocol.ListKey(hash)])
	switch {
	case err != nil || list.Hash() != hash || n.ran && hash == n.list.Hash() || n.refused != nil && n.refused.Hash == hash:
	case n.ran:
		n.next = &list
	case !refuses(list, refused):
		n.list, n.ran, n.since = list, true, now
		n.empty(0)
	default:
		former, err := protocol.ParseList(n.files[protocol.ListKey(section.Default)])
		if err == nil && former.Hash() == section.Default && !refuses(former, refused) {
			n.list, n.ran, n.since = former, true, now
			n.empty(0)
			n.refused = &protocol.Refusal{Hash: list.Hash(), Reason: "memcached ended with exit code 1."}
		}
	}
	if !n.ran {
		n.files = nil // the container restarts, and the kubelet delivers the ConfigMap again
	}
}

func refuses(list protocol.List, text string) bool {
	return text != "" && strings.Contains(list.String(), text)
}
