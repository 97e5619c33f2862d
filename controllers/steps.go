// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/rollout"
)

// takeSteps changes pods as the plan says. A step needs nothing that the same reconcile writes, so problems with the objects do not
// keep nodes from going on, or from going back.
func (r *Reconciler) takeSteps(ctx context.Context, view memcached.View, plan memcached.Plan, written *memcached.Written) {
	for _, step := range plan.Steps {
		var err error
		switch step.Action {
		case rollout.Replace:
			err = r.replacePod(ctx, view.Memcached, step.Pod)
		case rollout.ForceDelete:
			if err = r.deletePod(ctx, step.Pod, client.GracePeriodSeconds(0)); err == nil {
				r.reportLostPod(view.Memcached, step.Pod)
			}
		default:
			err = r.patchPod(ctx, &step)
		}
		r.classifyStep(ctx, view.Memcached, step, err, written)
	}
}

// replacePod deletes a pod. With copies, it evicts the pod, so that the API server counts it against the budget over all copies.
func (r *Reconciler) replacePod(ctx context.Context, mc *cachev1alpha1.Memcached, pod *corev1.Pod) error {
	if memcached.Copies(mc) == 1 {
		return r.deletePod(ctx, pod)
	}
	unchanged := &metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion}
	eviction := &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{Preconditions: unchanged}}
	return r.Client.SubResource("eviction").Create(ctx, pod, eviction)
}

// budgetOf returns the API server's words about the budget that keeps a pod from being evicted, or "".
func budgetOf(err error) string {
	var refused apierrors.APIStatus
	if !apierrors.IsTooManyRequests(err) || !errors.As(err, &refused) {
		return ""
	}
	words := refused.Status().Message
	if details := refused.Status().Details; details != nil && len(details.Causes) > 0 {
		words = details.Causes[0].Message
	}
	return words
}

// deletePod deletes a pod if it has not changed since it was observed.
func (r *Reconciler) deletePod(ctx context.Context, pod *corev1.Pod, options ...client.DeleteOption) error {
	unchanged := client.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion}
	return r.Client.Delete(ctx, pod, append(options, unchanged)...)
}

func (r *Reconciler) reportLostPod(mc *cachev1alpha1.Memcached, pod *corev1.Pod) {
	r.metrics.LostPodDeleted()
	r.Recorder.Eventf(mc, pod, corev1.EventTypeWarning, "LostPodDeleted", "Delete",
		"Pod %s did not stop after its eviction from cluster node %s: deleted it without waiting, so that a new %s can start",
		pod.Name, pod.Spec.NodeName, pod.Name)
}

// classifyStep records the result of a step.
func (r *Reconciler) classifyStep(
	ctx context.Context, mc *cachev1alpha1.Memcached, step memcached.PodStep, err error, written *memcached.Written,
) {
	switch {
	case err == nil:
		written.Changed = true
		logf.FromContext(ctx).Info("Took a step of a rollout", "pod", step.Pod.Name, "step", step.Action)
	case apierrors.IsConflict(err), missesPod(err):
		written.RetryAfter = memcached.Sooner(written.RetryAfter, stepInterval) // the pod has changed or is gone, and perhaps no event follows
	case budgetOf(err) != "": // its nodes may come back
		written.Kept, written.RetryAfter = budgetOf(err), memcached.Sooner(written.RetryAfter, blockedInterval)
	case step.Action == memcached.Wake: // the kubelet delivers the entry later
	case step.Resources != nil && cannotResize(err):
		// Kubernetes 1.33 also refuses to take back a resize if that lowers a memory limit. The cluster node had refused the resize, so the
		// pod still runs with its old resources.
		r.refuseForever(ctx, mc, step, err, written)
	default:
		join(written, r.failedStep(step, err))
	}
}

// failedStep returns the problem of a step that somebody has to resolve, or that is tried again.
func (r *Reconciler) failedStep(step memcached.PodStep, err error) memcached.Written {
	pod, deletes := step.Pod, step.Action == rollout.Replace || step.Action == rollout.ForceDelete
	switch {
	case deletes:
		return r.Classify(nil, fmt.Errorf("delete pod %s: %w", pod.Name, err))
	case lacksPermission(err):
		return memcached.Written{Err: err, Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonChangeRefused, Message: fmt.Sprintf(
			"The operator may not change pod %s in place, as spec.updateStrategy.podUpdatePolicy wants. Set it to Recreate to replace pods, or let "+
				"an administrator allow it in this namespace: kubectl create role %[2]s -n %[3]s --verb=patch --resource=pods,pods/resize && "+
				"kubectl create rolebinding %[2]s -n %[3]s --role=%[2]s --serviceaccount=%[4]s", pod.Name, inPlaceRole, pod.Namespace, accountOf(err))}}
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "node didn't have enough"):
		// The admission plugin PodResize refuses with this text (k8s.io/kubernetes/plugin/pkg/admission/podresize), if the pod requests
		// more than the cluster node's allocatable resources. A retry succeeds only if these grow.
		return memcached.Written{Err: err, Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonChangeRefused, Message: fmt.Sprintf(
			"Pod %s cannot have other resources on its cluster node, and the other pods are left as they are: %v", pod.Name, err)}}
	default:
		return r.Classify(nil, fmt.Errorf("change pod %s: %w", pod.Name, err))
	}
}

// refuseForever records in the pod that the API server never changes its resources. So the pod is replaced, or it keeps refused resources.
func (r *Reconciler) refuseForever(
	ctx context.Context, mc *cachev1alpha1.Memcached, step memcached.PodStep, cause error, written *memcached.Written,
) {
	asked, _ := memcached.AskedOf(step.Pod.Annotations)
	switch former, refused := asked.Former, asked.Refused; {
	case step.Action == rollout.GoBack && refused != nil:
		refused.Kept = true
	case former != nil:
		asked.Refused = &memcached.RefusedStep{Action: rollout.Resize, Forever: true, Refused: protocol.Refused{
			Value: asked.Resources, Words: cause.Error(), Tries: 1, At: r.ServerClock.Now().UTC(),
		}}
		asked.Resources, asked.DefaultLimit, asked.Former = former.Resources, former.DefaultLimit, nil
	}
	refusal := memcached.PodStep{Action: rollout.GoBack, Pod: step.Pod, Asked: &asked}
	r.classifyStep(ctx, mc, refusal, r.patchPod(ctx, &refusal), written)
}

// missesPod reports whether a request failed because the pod is gone.
func missesPod(err error) bool { return apierrors.IsNotFound(err) && !missesResource(err) }

// cannotResize reports whether the API server can never change these resources in a running pod. Before Kubernetes 1.33, it can
// change no resources at all. A ValidatingAdmissionPolicy also answers Invalid, but its refusal does not count, because it may be
// temporary.
func cannotResize(err error) bool {
	return missesResource(err) || apierrors.IsMethodNotSupported(err) ||
		apierrors.IsInvalid(err) && reasonFor(err) == cachev1alpha1.ReasonInvalidSpec
}

// missesResource reports whether the API server lacks the subresource. It recognizes client-go's message about that.
func missesResource(err error) bool {
	return apierrors.IsNotFound(err) && strings.Contains(err.Error(), "could not find the requested resource")
}

// lacksPermission reports whether RBAC refused a request. Admission plugins also answer Forbidden, but their message names no user.
func lacksPermission(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), `User "`)
}

// inPlaceRole is the name under which config/components/in-place installs its ClusterRole.
const inPlaceRole = "memcached-operator-in-place"

// accountOf returns the operator's service account as NAMESPACE:NAME, from the message of a refusal. If the message names no service
// account, NAMESPACE stays a placeholder.
func accountOf(err error) string {
	_, user, _ := strings.Cut(err.Error(), `User "system:serviceaccount:`)
	account, _, found := strings.Cut(user, `"`)
	if !found {
		return "NAMESPACE:memcached-operator-controller-manager"
	}
	return account
}

// patchPod patches a pod if it has not changed since it was observed, and stores the pod as it is then in the step. The subresource resize
// ignores metadata, so the annotation comes first: if the resize is not sent, the next reconcile sends it.
func (r *Reconciler) patchPod(ctx context.Context, step *memcached.PodStep) error {
	pod := step.Pod
	changes := corev1ac.Pod(pod.Name, pod.Namespace)
	if step.Revision != "" {
		changes.WithLabels(map[string]string{appsv1.ControllerRevisionHashLabelKey: step.Revision})
	}
	if step.Asked != nil {
		changes.WithAnnotations(map[string]string{memcached.AskedAnnotation: step.Asked.Annotation()})
	}
	if step.Entry != "" {
		changes.WithAnnotations(map[string]string{memcached.WakeAnnotation: step.Entry})
	}
	container := corev1ac.Container().WithName(memcached.ContainerName)
	if step.Image != "" {
		changes.WithSpec(corev1ac.PodSpec().WithContainers(container.WithImage(step.Image)))
	}
	if changes.Annotations != nil {
		err := patch(step, changes, func(pod *corev1.Pod, p client.Patch) error { return r.Client.Patch(ctx, pod, p) })
		if err != nil {
			return err
		}
	}
	if step.Resources == nil {
		return nil
	}
	resources := corev1ac.ResourceRequirements().WithLimits(step.Resources.Limits).WithRequests(step.Resources.Requests)
	container = corev1ac.Container().WithName(memcached.ContainerName).WithResources(resources)
	resized := corev1ac.Pod(pod.Name, pod.Namespace).WithSpec(corev1ac.PodSpec().WithContainers(container))
	return patch(step, resized, func(pod *corev1.Pod, p client.Patch) error { return r.Client.SubResource("resize").Patch(ctx, pod, p) })
}

// patch sends a strategic merge patch, which finds containers by their names.
func patch(step *memcached.PodStep, changes *corev1ac.PodApplyConfiguration, send func(*corev1.Pod, client.Patch) error) error {
	data, err := json.Marshal(changes.WithUID(step.Pod.UID).WithResourceVersion(step.Pod.ResourceVersion))
	if err != nil {
		return fmt.Errorf("encode the patch of a pod: %w", err)
	}
	patched := &corev1.Pod{}
	patched.Namespace, patched.Name = step.Pod.Namespace, step.Pod.Name
	if err := send(patched, client.RawPatch(types.StrategicMergePatchType, data)); err != nil {
		return err
	}
	step.Pod = patched
	return nil
}
