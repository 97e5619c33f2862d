// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/internal/memcached"
)

// kindToCollect is a Kind of objects that the command "debug" collects. Secrets are never collected.
type kindToCollect struct {
	file   string
	list   client.ObjectList
	labels client.MatchingLabels
}

func kindsToCollect(name string) []kindToCollect {
	ours := client.MatchingLabels{memcached.InstanceLabel: name, memcached.ManagedByLabel: memcached.ManagedBy}
	return []kindToCollect{
		{"pods.yaml", &corev1.PodList{}, ours},
		{"deployments.yaml", &appsv1.DeploymentList{}, ours},
		{"replicasets.yaml", &appsv1.ReplicaSetList{}, ours},
		{"statefulsets.yaml", &appsv1.StatefulSetList{}, ours},
		{"services.yaml", &corev1.ServiceList{}, ours},
		{"configmaps.yaml", &corev1.ConfigMapList{}, ours},
		{"poddisruptionbudgets.yaml", &policyv1.PodDisruptionBudgetList{}, ours},
		{"networkpolicies.yaml", &networkingv1.NetworkPolicyList{}, ours},
		{"endpointslices.yaml", &discoveryv1.EndpointSliceList{}, client.MatchingLabels{discoveryv1.LabelServiceName: name}},
	}
}

// podOf returns the metadata and the spec of a pod, or those of a workload's pod template. For other objects, it returns nil.
func podOf(object client.Object) (*metav1.ObjectMeta, *corev1.PodSpec) {
	switch object := object.(type) {
	case *corev1.Pod:
		return &object.ObjectMeta, &object.Spec
	case *appsv1.Deployment:
		return &object.Spec.Template.ObjectMeta, &object.Spec.Template.Spec
	case *appsv1.ReplicaSet:
		return &object.Spec.Template.ObjectMeta, &object.Spec.Template.Spec
	case *appsv1.StatefulSet:
		return &object.Spec.Template.ObjectMeta, &object.Spec.Template.Spec
	}
	return nil, nil
}

// manifestOf redacts an object and returns it as YAML.
func manifestOf(object client.Object, scheme *runtime.Scheme) ([]byte, error) {
	kind, err := apiutil.GVKForObject(object, scheme)
	if err != nil {
		return nil, err
	}
	redact(object)
	object.GetObjectKind().SetGroupVersionKind(kind)
	return yaml.Marshal(object)
}

// manifestsOf redacts the objects of a list and returns them as YAML, one document for each.
func manifestsOf(list client.ObjectList, scheme *runtime.Scheme) ([]byte, error) {
	var all []byte
	err := apimeta.EachListItem(list, func(item runtime.Object) error {
		object, isObject := item.(client.Object)
		if !isObject {
			return nil
		}
		manifest, err := manifestOf(object, scheme)
		all = append(append(all, "---\n"...), manifest...)
		return err
	})
	return all, err
}
