// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// The sample and the objects that belong to it.
const (
	memcachedsPath = "/apis/cache.example.com/v1alpha1/namespaces/" + namespace + "/memcacheds"
	podsPath       = "/api/v1/namespaces/" + namespace + "/pods"
	instanceLabel  = "app.kubernetes.io/instance"
	ownedSelector  = instanceLabel + "=" + sampleName
)

var (
	sampleKey = client.ObjectKey{Namespace: namespace, Name: sampleName}
	owned     = []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{instanceLabel: sampleName}}
)

func (d *demo) pods(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := d.k8s.List(ctx, &pods, owned...)
	return pods.Items, err
}

// leftovers returns what remains of the sample, or nothing.
func (d *demo) leftovers(ctx context.Context) (string, error) {
	var left []string
	for _, kind := range []struct {
		name string
		list client.ObjectList
	}{
		{"Memcacheds", &cachev1alpha1.MemcachedList{}},
		{"Deployments", &appsv1.DeploymentList{}},
		{"ReplicaSets", &appsv1.ReplicaSetList{}},
		{"Services", &corev1.ServiceList{}},
		{"PodDisruptionBudgets", &policyv1.PodDisruptionBudgetList{}},
		{"Pods", &corev1.PodList{}},
	} {
		options := owned
		if kind.name == "Memcacheds" {
			// The sample itself has no labels.
			options = owned[:1]
		}
		if err := d.k8s.List(ctx, kind.list, options...); err != nil {
			return "", err
		}
		if count := meta.LenList(kind.list); count > 0 {
			left = append(left, fmt.Sprintf("%d %s remain", count, kind.name))
		}
	}
	return strings.Join(left, ", "), nil
}

func (d *demo) showMemcached(ctx context.Context) error {
	return d.show(ctx, "kubectl get memc", resource{path: memcachedsPath})
}

// showOwned prints the objects of one kind that belong to the sample.
func (d *demo) showOwned(ctx context.Context, kind, path string) error {
	command := "kubectl get " + kind + " -l " + ownedSelector
	return d.show(ctx, command, resource{path: path, selector: ownedSelector})
}

// showChildren prints everything that belongs to the sample.
func (d *demo) showChildren(ctx context.Context) error {
	for _, child := range []struct{ kind, path string }{
		{"deployment", "/apis/apps/v1/namespaces/" + namespace + "/deployments"},
		{"service", "/api/v1/namespaces/" + namespace + "/services"},
		{"poddisruptionbudget", "/apis/policy/v1/namespaces/" + namespace + "/poddisruptionbudgets"},
		{"pods", podsPath},
	} {
		if err := d.showOwned(ctx, child.kind, child.path); err != nil {
			return err
		}
	}
	return nil
}

// showNodes prints status.nodes.
func (d *demo) showNodes(context.Context) error {
	nodes, err := json.Marshal(d.mc.Status.Nodes)
	if err != nil {
		return err
	}
	d.out.command("kubectl get " + sampleCommand + " -o jsonpath='{.status.nodes}'")
	d.out.block(string(nodes))
	return nil
}

// showPodImages prints the image of each pod.
func (d *demo) showPodImages(ctx context.Context) error {
	pods, err := d.pods(ctx)
	if err != nil {
		return err
	}
	lines := [][]string{{"NAME", "IMAGE"}}
	for i := range pods {
		lines = append(lines, []string{pods[i].Name, pods[i].Spec.Containers[0].Image})
	}
	d.out.command("kubectl get pods -l " + ownedSelector + " -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[0].image")
	d.out.block(align(lines))
	return nil
}
