// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// patchPods sends the next patch of a change in place. It also sends patches that make kubelets deliver new arguments at once,
// instead of within a minute.
func (r *Reconciler) patchPods(ctx context.Context, view memcached.View, plan memcached.Plan, written *memcached.Written) {
	if view.Memcached.Spec.Paused || view.Memcached.DeletionTimestamp != nil || written.Err != nil || written.Problem != nil {
		return
	}
	for _, patch := range plan.Wave.Wake {
		if err := r.patchPod(ctx, patch); err != nil {
			logf.FromContext(ctx).V(1).Info("Did not wake the kubelet of a node", "pod", patch.Pod.Name, "error", err.Error())
		}
	}
	patch := plan.InPlace.Patch
	if patch == nil || written.TemplatePending {
		return
	}
	if err := r.VerifyOnce(ctx, view.Memcached); err != nil { // the latest Memcached may be paused or have another spec
		join(written, r.Classify(nil, err))
		return
	}
	r.classifyPatch(view, *patch, r.patchPod(ctx, *patch), written)
}

// classifyPatch records the result of a patch.
func (r *Reconciler) classifyPatch(view memcached.View, patch memcached.PodPatch, err error, written *memcached.Written) {
	mc, pod := view.Memcached, patch.Pod
	switch {
	case err == nil:
		written.Changed = true
	case apierrors.IsConflict(err), missesPod(err):
		written.RetryAfter = memcached.Sooner(written.RetryAfter, stepInterval) // the pod has changed or is gone, and perhaps no event follows
	case patch.Resources != nil && apierrors.IsInvalid(err) && refused(pod):
		// Kubernetes 1.33 refuses to take back a resize if that lowers a memory limit. The cluster node had refused the resize, so
		// the pod still has its old resources, and nothing has to be done.
	case patch.Resources != nil && cannotResize(err):
		hash := view.Workload.Template.Annotations[memcached.TemplateAnnotation]
		r.states.update(client.ObjectKeyFromObject(mc), func(s *instanceState) { s.unchangeable = hash })
		written.RetryAfter = memcached.Sooner(written.RetryAfter, time.Millisecond) // reconcile at once, to replace the pods instead
	case lacksPermission(err):
		written.Problem = &memcached.Problem{Reason: cachev1alpha1.ReasonInPlaceForbidden, Message: fmt.Sprintf(
			"The operator may not change pod %s in place, as spec.updateStrategy.podUpdatePolicy wants. Set it to Recreate to replace pods, or let "+
				"an administrator allow it in this namespace: kubectl create role %[2]s -n %[3]s --verb=patch --resource=pods,pods/resize && "+
				"kubectl create rolebinding %[2]s -n %[3]s --role=%[2]s --serviceaccount=%[4]s", pod.Name, inPlaceRole, pod.Namespace, accountOf(err))}
		written.Err = err
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "node didn't have enough"):
		// The admission plugin PodResize refuses with this text (k8s.io/kubernetes/plugin/pkg/admission/podresize), if the pod requests
		// more than the cluster node's allocatable resources. A retry succeeds only if these grow.
		written.Problem = &memcached.Problem{Reason: cachev1alpha1.ReasonInPlaceRefused, Message: fmt.Sprintf(
			"Pod %s cannot have other resources on its cluster node, and the other pods are left as they are: %v", pod.Name, err)}
		written.Err = err
	default:
		join(written, r.Classify(nil, fmt.Errorf("change pod %s in place: %w", pod.Name, err)))
	}
}

// missesPod reports whether a request failed because the pod is gone.
func missesPod(err error) bool { return apierrors.IsNotFound(err) && !missesResource(err) }

// refused reports whether the pod's change in place was refused.
func refused(pod *corev1.Pod) bool {
	state, _ := memcached.InPlaceStateOf(pod)
	return state.Refused != ""
}

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

// patchPod patches a pod if it has not changed since it was observed.
func (r *Reconciler) patchPod(ctx context.Context, patch memcached.PodPatch) error {
	body := podPatch{Metadata: podPatchMetadata{UID: patch.Pod.UID, ResourceVersion: patch.Pod.ResourceVersion}}
	body.add(patch)
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode the patch of a pod: %w", err)
	}
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = patch.Pod.Namespace, patch.Pod.Name
	raw := client.RawPatch(types.StrategicMergePatchType, data)
	if patch.Resources != nil {
		return r.Client.SubResource("resize").Patch(ctx, pod, raw)
	}
	return r.Client.Patch(ctx, pod, raw)
}

// podPatch is a strategic merge patch: it finds containers by their names.
type podPatch struct {
	Metadata podPatchMetadata `json:"metadata"`
	Spec     *podPatchSpec    `json:"spec,omitempty"`
}

type podPatchMetadata struct {
	UID             types.UID          `json:"uid"`
	ResourceVersion string             `json:"resourceVersion"`
	Labels          map[string]string  `json:"labels,omitempty"`
	Annotations     map[string]*string `json:"annotations,omitempty"`
}

type podPatchSpec struct {
	Containers     []containerPatch `json:"containers,omitempty"`
	InitContainers []containerPatch `json:"initContainers,omitempty"`
}

type containerPatch struct {
	Name      string                       `json:"name"`
	Image     string                       `json:"image,omitempty"`
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}

func (p *podPatch) add(patch memcached.PodPatch) {
	if patch.Revision != "" {
		p.Metadata.Labels = map[string]string{appsv1.ControllerRevisionHashLabelKey: patch.Revision}
	}
	for key, value := range patch.Annotations {
		if p.Metadata.Annotations == nil {
			p.Metadata.Annotations = map[string]*string{}
		}
		p.Metadata.Annotations[key] = nil
		if value != "" {
			p.Metadata.Annotations[key] = &value
		}
	}
	for name, image := range patch.Images {
		p.container(containerPatch{Name: name, Image: image})
	}
	for name, resources := range patch.Resources {
		p.container(containerPatch{Name: name, Resources: &resources})
	}
}

func (p *podPatch) container(patch containerPatch) {
	if p.Spec == nil {
		p.Spec = &podPatchSpec{}
	}
	if patch.Name == memcached.ContainerName {
		p.Spec.Containers = append(p.Spec.Containers, patch)
	} else {
		p.Spec.InitContainers = append(p.Spec.InitContainers, patch)
	}
}
