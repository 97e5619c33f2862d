// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Where the API server lists the objects of the story.
const (
	memcachedsPath = "/apis/cache.example.com/v1alpha1/namespaces/" + namespace + "/memcacheds"
	servicesPath   = "/api/v1/namespaces/" + namespace + "/services"
	podsPath       = "/api/v1/namespaces/" + namespace + "/pods"
)

const (
	instanceLabel = "app.kubernetes.io/instance"
	ownedSelector = instanceLabel + "=" + sampleName
)

var (
	sampleKey = client.ObjectKey{Namespace: namespace, Name: sampleName}
	owned     = []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{instanceLabel: sampleName}}
)

// ownedKind is a kind of object that belongs to the sample.
type ownedKind struct {
	// plural is what messages call the objects, and argument what kubectl get does.
	plural, argument string
	// path is where the API server lists them. Those without a path are not shown.
	path string
	list client.ObjectList
}

func ownedKinds() []ownedKind {
	return []ownedKind{
		{"Deployments", "deployment", "/apis/apps/v1/namespaces/" + namespace + "/deployments", &appsv1.DeploymentList{}},
		{"ReplicaSets", "", "", &appsv1.ReplicaSetList{}},
		{"Services", "service", servicesPath, &corev1.ServiceList{}},
		{
			"PodDisruptionBudgets", "poddisruptionbudget",
			"/apis/policy/v1/namespaces/" + namespace + "/poddisruptionbudgets", &policyv1.PodDisruptionBudgetList{},
		},
		{"Pods", "pods", podsPath, &corev1.PodList{}},
	}
}

func (d *demo) pods(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := d.k8s.List(ctx, &pods, owned...)
	return pods.Items, err
}

// leftovers returns what remains of the sample, or nothing.
func (d *demo) leftovers(ctx context.Context) (string, error) {
	var left []string
	count := func(plural string, list client.ObjectList, options ...client.ListOption) error {
		err := d.k8s.List(ctx, list, options...)
		if n := meta.LenList(list); n > 0 {
			left = append(left, fmt.Sprintf("%d %s remain", n, plural))
		}
		return err
	}
	err := count("Memcacheds", &cachev1alpha1.MemcachedList{}, client.InNamespace(namespace)) // the sample itself has no labels
	for _, kind := range ownedKinds() {
		err = errors.Join(err, count(kind.plural, kind.list, owned...))
	}
	return strings.Join(left, ", "), err
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
	for _, kind := range ownedKinds() {
		if kind.path == "" {
			continue
		}
		if err := d.showOwned(ctx, kind.argument, kind.path); err != nil {
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
