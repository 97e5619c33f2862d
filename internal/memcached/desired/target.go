// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/rollout"
)

// targetOf returns what the spec asks of every node of a StatefulSet. Its values are hashes of fields of the spec, not of what the operator
// renders from them. So another version of the operator, with other defaults, asks living nodes for nothing.
func targetOf(v memcached.View) rollout.Target {
	mc := v.Memcached
	limit := resourcesOf(mc.Spec.Resources, defaultLimit(mc)).Limits[corev1.ResourceMemory]
	return rollout.Target{
		Asked: rollout.Asked{
			Template: hashOf(onlyNewPods(mc, lastRestarts(v).kubectl)), Image: mc.Spec.Image, Resources: hashOf(resourcesInSpec(mc)),
			Arguments: argumentList(mc).Target,
		},
		Limit: limit.Value(), Use: sizingOf(mc).minimum(),
		InPlace: mc.Spec.UpdateStrategy.PodUpdatePolicy == cachev1alpha1.PodUpdateInPlaceOrRecreate && memcached.Copies(mc) == 1,
	}
}

// onlyNewPods returns what only a new pod can have. "kubectl rollout restart" also asks for new pods.
func onlyNewPods(mc *cachev1alpha1.Memcached, restarted string) any {
	spec := mc.Spec
	if spec.TLS != nil {
		tls := *spec.TLS
		tls.MinVersion = "" // only an argument of memcached
		spec.TLS = &tls
	}
	fields := []any{
		spec.Scheduling, spec.ImagePullSecrets, spec.ImagePullPolicy, spec.PodMetadata, spec.GracefulShutdown, spec.TLS, spec.Auth,
		spec.Storage, timeOf(spec.ReplacedAt), restarted,
	}
	if resources := spec.Agent.Resources; len(resources.Limits)+len(resources.Requests) > 0 { // without it, the hash is that of older versions
		fields = append(fields, resources)
	}
	return fields
}

// resourcesInSpec returns the fields on which the resources of memcached's container depend. More connections or threads only need another
// limit if they outgrow the default one: see observeResourcesAsked.
func resourcesInSpec(mc *cachev1alpha1.Memcached) any {
	spec := mc.Spec
	if _, given := givenLimit(spec.Resources); given {
		return spec.Resources
	}
	return []any{spec.Resources, spec.Config.Memory}
}

// argumentList returns the arguments that the spec asks for.
func argumentList(mc *cachev1alpha1.Memcached) protocol.List {
	spec := mc.Spec
	cpu := spec.Resources.Limits[corev1.ResourceCPU] // it decides about the threads
	return protocol.List{
		Target:    hashOf([]any{spec.Config, cpu, spec.TLS, spec.Auth != nil, spec.Storage, timeOf(spec.RestartedAt)}),
		Arguments: strings.Join(args(mc), " "),
		Restart:   timeOf(spec.RestartedAt),
	}
}

// memoryOf returns what memcached may use with these arguments, in bytes. It reverses the computation of the arguments.
func memoryOf(list protocol.List) int64 {
	number := func(option string) int32 {
		value, _ := strconv.ParseInt(list.Value(option), 10, 32) // the parent's pattern allows only numbers
		return int32(value)
	}
	s := sizing{
		memory: int64(number("-m")) * mebibyte, threads: number("-t"), statefulSet: true,
		tls: slices.Contains(list.Fields(), "-Z"), plaintext: strings.Contains(list.Arguments, "notls:*"),
	}
	s.credentials = s.tls || list.Value("-Y") != ""
	own, others := s.otherConnections()
	s.connections = max(number("-c")-others-own, 0)
	return s.minimum()
}

// effectOf returns what a change from one list of arguments to another does to a node.
func effectOf(former, next protocol.List) memcached.Effect {
	switch {
	case former.Same(next):
		return memcached.NoEffect
	case former.Grows(next):
		return memcached.GrowsInPlace
	case former.Keeps(next):
		return memcached.KeepsItems
	default:
		return memcached.LosesItems
	}
}

// timeOf returns a time in the precision of the API server, or an empty text. Go clients encode the zero time as null, so it counts as
// unset.
func timeOf(t *metav1.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// podAnnotations returns the annotations of the pods, nil for none. Those of a StatefulSet do not include spec.restartedAt: it is
// in the argument list, because the parent restarts memcached without a new pod.
func podAnnotations(mc *cachev1alpha1.Memcached, volumes []corev1.Volume) map[string]string {
	annotations := annotationsOf(mc.Spec.PodMetadata)
	if memcached.IsStatefulSet(mc) {
		return evictable(volumes, annotations)
	}
	restarted := timeOf(mc.Spec.RestartedAt)
	if restarted == "" {
		return annotations
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[memcached.RestartedAtAnnotation] = restarted // a new value changes the template, so the pods are replaced
	return annotations
}

// restarts are the last requests for restarts and new pods. An empty text means that there was none.
type restarts struct {
	restartedAt, replacedAt string
	// kubectl is the annotation of "kubectl rollout restart".
	kubectl string
}

// lastRestarts reads the last requests from the pod template and from the living pods. So they survive a StatefulSet that somebody deletes
// with --cascade=orphan, and annotations that somebody removes.
func lastRestarts(v memcached.View) (last restarts) {
	pods, entries := append(v.Nodes(), v.Orphans()...), v.Entries()
	if live := v.Workload; live != nil {
		pods = append(pods, &corev1.Pod{ObjectMeta: live.Template.ObjectMeta, Spec: live.Template.Spec})
	}
	for _, pod := range pods {
		asked, _ := memcached.AskedOf(pod.Annotations)
		restartedAt := cmp.Or(pod.Annotations[memcached.RestartedAtAnnotation], memcached.FirstList(pod).Restart)
		if entry, found := entries[pod.Name]; found && entry.Pod == string(pod.UID) {
			restartedAt = entry.Restart
		}
		last.restartedAt = max(last.restartedAt, restartedAt)
		last.replacedAt = max(last.replacedAt, asked.ReplacedAt)
		last.kubectl = later(last.kubectl, asked.Restarted)
	}
	if live := v.Workload; live != nil {
		if asked, found := memcached.AskedOf(live.Template.Annotations); found {
			last.replacedAt, last.kubectl = asked.ReplacedAt, asked.Restarted
		}
		last.kubectl = cmp.Or(live.Template.Annotations[memcached.KubectlRestartedAt], last.kubectl)
	}
	for _, live := range v.Workloads { // a restart of one copy is one of all
		if live != nil {
			last.kubectl = later(last.kubectl, live.Template.Annotations[memcached.KubectlRestartedAt])
		}
	}
	return last
}

// later returns the later of two RFC 3339 times, in any time zones. A text that is not such a time counts as the earliest.
func later(a, b string) string {
	at, _ := time.Parse(time.RFC3339, a) // the zero time if a is empty
	if other, err := time.Parse(time.RFC3339, b); err == nil && other.After(at) {
		return b
	}
	return cmp.Or(a, b)
}

// keepRestart sets spec.restartedAt and spec.replacedAt to their last values if the user has removed them, because a removal is no reason
// to restart nodes.
func keepRestart(mc *cachev1alpha1.Memcached, v memcached.View) {
	last := lastRestarts(v)
	for at, text := range map[**metav1.Time]string{&mc.Spec.RestartedAt: last.restartedAt, &mc.Spec.ReplacedAt: last.replacedAt} {
		if parsed, err := time.Parse(time.RFC3339, text); err == nil && (*at).IsZero() {
			*at = &metav1.Time{Time: parsed}
		}
	}
}
