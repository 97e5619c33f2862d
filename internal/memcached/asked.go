// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/rollout"
)

// AskedAnnotation is an annotation of the template of a StatefulSet and of its pods. It holds an Asked as JSON.
const AskedAnnotation = "cache.example.com/asked"

// Asked is what a pod was last asked for. The template has what a new pod is asked for. Each step of a rollout that changes a living pod
// updates it in the same patch.
type Asked struct {
	rollout.Asked

	// Rendering is the hash of what an operator rendered for a new pod. A newer operator may render another pod for the same spec.
	Rendering string `json:"rendering"`
	// DefaultImage and DefaultLimit are what an operator chose because the spec leaves it open: the image, and the memory limit in bytes.
	DefaultImage string `json:"defaultImage,omitempty"`
	DefaultLimit int64  `json:"defaultLimit,omitempty"`
	// Applied is the hash of the pod spec in the template, as the operator applied it.
	Applied string `json:"applied,omitempty"`
	// ReplacedAt is the last spec.replacedAt, and Restarted is what "kubectl rollout restart" last asked for.
	ReplacedAt string `json:"replacedAt,omitempty"`
	Restarted  string `json:"restarted,omitempty"`
	// Former is what the pod had before its last step in place, nil if there is nothing to go back to.
	Former *FormerPod `json:"former,omitempty"`
	// Refused is what the pod has refused, or nil. Refusals of arguments are in the entries of the ConfigMap instead.
	Refused *RefusedStep `json:"refused,omitempty"`
}

// FormerPod is what a pod had before a step in place.
type FormerPod struct {
	// Image and Resources are the values that the pod was asked for before. Each is empty if there was no such step.
	Image     string `json:"image,omitempty"`
	Resources string `json:"resources,omitempty"`
	// DefaultLimit is that of the pod before the step Resize. PodResources is the hash of the resources in the pod's spec before it: while
	// the pod has them, the resize has to be sent.
	DefaultLimit int64  `json:"defaultLimit,omitempty"`
	PodResources string `json:"podResources,omitempty"`
	// PodImage is the image in the pod's spec before the step SetImage, and Restarts is how often memcached's container had restarted. It
	// is -1 if the container was not running, so that its next start counts. PodImage is empty without that step.
	PodImage string `json:"podImage,omitempty"`
	Restarts int32  `json:"restarts,omitempty"`
}

// RefusedStep records a step that a pod has refused.
type RefusedStep struct {
	Action rollout.Action `json:"action"`

	protocol.Refused

	// Forever reports that the pod can never have the value. Kept reports that the API server refuses to take refused resources back.
	Forever bool `json:"forever,omitempty"`
	Kept    bool `json:"kept,omitempty"`
}

// Annotation returns the text of the annotation.
func (a Asked) Annotation() string {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // impossible: it holds only text, numbers and times
	}
	return string(text)
}

// AskedOf returns what the annotations of a pod or template say. Found is false if they do not say it, for example because somebody has
// removed the annotation.
func AskedOf(annotations map[string]string) (asked Asked, found bool) {
	if json.Unmarshal([]byte(annotations[AskedAnnotation]), &asked) != nil {
		return Asked{}, false
	}
	return asked, asked.Template != ""
}

// Actions that complete earlier steps of a pod.
const (
	// Wake makes the kubelet deliver an entry at once.
	Wake rollout.Action = "Wake"
	// Finish sets the label by which Kubernetes and others count updated pods.
	Finish rollout.Action = "Finish"
)

// PodStep is a step of one pod that the operator takes now.
type PodStep struct {
	Action rollout.Action
	Pod    *corev1.Pod
	// Image and Resources are the new values of memcached's container. Each may be empty.
	Image     string
	Resources *corev1.ResourceRequirements
	// Asked replaces the pod's annotation, unless it is nil. Revision is the new value of the label controller-revision-hash, unless it is
	// empty. Entry is the new value of WakeAnnotation, unless it is empty.
	Asked    *Asked
	Revision string
	Entry    string
}

// Answer is the answer of a node's parent, or the reason why there is none.
type Answer struct {
	protocol.Status

	// Failure is why the parent did not answer, or empty.
	Failure string
}

// Answers maps the UID of a pod to the answer of its parent.
type Answers map[types.UID]Answer

// retries are the pauses before a refused image or refused resources are tried again. Registries and cluster nodes recover.
var retries = []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute}

// RetryIn returns how long to wait before the next try, 0 if it is due. Never is true if only another value can help.
func (r RefusedStep) RetryIn(now time.Time) (wait time.Duration, never bool) {
	if r.Forever || r.Tries > len(retries) || r.Action == rollout.Assign {
		return 0, true
	}
	return max(0, r.At.Add(retries[max(r.Tries, 1)-1]).Sub(now)), false
}

// AgentReports are the reports of the agents of one Memcached.
type AgentReports struct {
	// Nodes are the reports of the agents that have answered.
	Nodes []AgentReport
	// Pending reports that the agent of some ready node has not been asked yet. Unanswered reports that the agent of some ready node
	// has not answered yet.
	Pending, Unanswered bool
}

// AgentReport is what the agent of one pod reports.
type AgentReport struct {
	Pod      string
	UID      types.UID
	Problems []protocol.Problem
	// Proxy reports that the pod is a proxy.
	Proxy bool
	// Restart is the start of memcached's process if it must restart to forget what was removed from a Secret, and 0 otherwise.
	Restart int
}

// Restart returns the start of the process that must restart in a pod, 0 if none must or if nothing is known.
func (r AgentReports) Restart(pod *corev1.Pod) int {
	for _, node := range r.Nodes {
		if node.UID == pod.UID {
			return node.Restart
		}
	}
	return 0
}

// CertificateHosts returns the host names by which clients reach a node or a proxy, or nil without TLS. Clients expect one of these names
// in the certificate.
func CertificateHosts(mc *cachev1alpha1.Memcached, pod *corev1.Pod) []string {
	if mc.Spec.TLS == nil {
		return nil
	}
	if HasProxies(mc) {
		return []string{ClientHost(mc)}
	}
	return []string{Host(mc), pod.Name + "." + Host(mc)}
}
