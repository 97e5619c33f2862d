// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/traffic"
)

// The Memcached of the story, and the commands that show it and its children.
const (
	namespace    = "default"
	sampleName   = "memcached-sample"
	sample       = "memc/" + sampleName
	sampleFile   = "config/samples/cache_v1alpha1_memcached.yaml" // relative to the root of the repository, where make runs the demo
	newImage     = "docker.io/library/memcached:1.6.45-alpine"
	selector     = " -l app.kubernetes.io/instance=" + sampleName
	getNodes     = "kubectl get " + sample + " -o jsonpath='{.status.nodes}'"
	getChildren  = "kubectl get deployment,service,poddisruptionbudget,pods" + selector
	nodesService = "service " + sampleName + "-nodes"
	getService   = "kubectl get " + nodesService
	operatorLogs = "kubectl logs --namespace memcached-operator-system deployment/memcached-operator-controller-manager"
	// created is the number of nodes at first. more is the number of nodes after the scaling.
	created, more = 3, 5
	// keys is how many keys the story writes: enough that each node gets about the same share. valueSize is the length of each value.
	keys, valueSize = 10_000, 100
)

var sampleKey = client.ObjectKey{Namespace: namespace, Name: sampleName}

type demo struct {
	out   *narrator
	image string
	k8s   client.Client
	// mc is the Memcached of the story as it was last read.
	mc *cachev1alpha1.Memcached
}

// chapter is a part of the story: an action and its effect.
type chapter struct {
	title string
	tell  func(ctx context.Context) error
}

func (d *demo) story() []chapter {
	return []chapter{
		{"The operator is deployed to a Kubernetes cluster", d.deploy},
		{"A Memcached with 3 nodes is created", d.create},
		{"It is scaled from 3 to 5", d.scale},
		{"A pod is deleted and replaced", d.deletePod},
		{"The image is changed and rolls", d.changeImage},
		{"The Service is deleted and comes back", d.deleteService},
		{"The Memcached is deleted, and everything that it owned goes", d.delete},
	}
}

func (d *demo) deploy(ctx context.Context) error {
	return d.shell(ctx, "kubectl get nodes", "make --no-print-directory deploy IMG="+d.image, "kubectl get pods --all-namespaces")
}

func (d *demo) create(ctx context.Context) error {
	if err := d.change(ctx, "kubectl apply -f "+sampleFile, created, ""); err != nil {
		return err
	}
	return errors.Join(d.shell(ctx, "kubectl get memc", getNodes, getChildren), d.write(ctx))
}

func (d *demo) scale(ctx context.Context) error {
	if err := d.change(ctx, fmt.Sprintf("kubectl scale %s --replicas %d", sample, more), more, ""); err != nil {
		return err
	}
	// The two new nodes take over about two fifths of the keys. The ring is not perfectly even, so only half must be found.
	return errors.Join(d.shell(ctx, "kubectl get memc", getNodes), d.read(ctx, "The new nodes took over the others.", keys/2), d.write(ctx))
}

func (d *demo) deletePod(ctx context.Context) error {
	victim := d.mc.Status.Nodes[0]
	if err := d.change(ctx, "kubectl delete pod "+victim, more, victim); err != nil {
		return err
	}
	d.out.outcome("status.nodes no longer has %s.", victim)
	// A fifth of the keys is lost with the pod. The replacement has a new name, so it takes over another fifth from the other nodes.
	return errors.Join(d.shell(ctx, getNodes),
		d.read(ctx, "The pod's share is lost, and its successor takes keys over from the others.", keys/2))
}

func (d *demo) changeImage(ctx context.Context) error {
	change := fmt.Sprintf(`kubectl patch %s --type merge -p '{"spec":{"image":%q}}'`, sample, newImage)
	if err := d.change(ctx, change, more, ""); err != nil {
		return err
	}
	return errors.Join(d.shell(ctx, "kubectl get memc -o wide",
		"kubectl get pods"+selector+" -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[0].image"),
		d.read(ctx, "Every pod is a new one: a rolling change empties the cache, node by node.", 0))
}

func (d *demo) deleteService(ctx context.Context) error {
	if err := d.shell(ctx, "kubectl delete "+nodesService); err != nil {
		return err
	}
	err := d.until(ctx, func(ctx context.Context) (string, error) {
		return "", exec.CommandContext(ctx, "sh", "-c", getService).Run()
	})
	return errors.Join(err, d.shell(ctx, getService))
}

func (d *demo) delete(ctx context.Context) error {
	if err := d.shell(ctx, "kubectl delete "+sample); err != nil {
		return err
	}
	err := d.until(ctx, func(ctx context.Context) (string, error) {
		left, err := exec.CommandContext(ctx, "sh", "-c", getChildren+" -o name").Output()
		return strings.Join(strings.Fields(string(left)), ", "), err
	})
	return errors.Join(err, d.shell(ctx, getChildren))
}

// shell runs commands and shows them with their output. It ends with the first that fails.
func (d *demo) shell(ctx context.Context, commands ...string) error {
	for _, command := range commands {
		d.out.command(command)
		shell := exec.CommandContext(ctx, "sh", "-c", command+" 2>&1")
		output, err := shell.StdoutPipe()
		if err == nil {
			err = shell.Start()
		}
		if err == nil {
			d.out.lines(output)
			err = shell.Wait()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
	}
	return nil
}

// unready returns why a Memcached is not Ready with this number of nodes and without the node gone, or "" if it is.
func unready(mc *cachev1alpha1.Memcached, size int, gone string) string {
	ready := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady)
	switch {
	case ready == nil || mc.Status.ObservedGeneration != mc.Generation:
		return "the operator has not seen the change yet"
	case ready.Status != metav1.ConditionTrue:
		return fmt.Sprintf("Ready is %s (%s: %s)", ready.Status, ready.Reason, ready.Message)
	case len(mc.Status.Nodes) != size:
		return fmt.Sprintf("status.nodes has %d names instead of %d: %s", len(mc.Status.Nodes), size, mc.Status.Nodes)
	case slices.Contains(mc.Status.Nodes, gone):
		return "status.nodes still has " + gone
	}
	return ""
}

// write writes the keys as an application does, through a hash ring over status.nodes, and reads them back.
func (d *demo) write(ctx context.Context) error {
	return d.withCache(ctx, func(cache *traffic.Client) error {
		if err := cache.Write(ctx, keys, valueSize); err != nil {
			return fmt.Errorf("writing keys: %w", err)
		}
		d.out.outcome("%d keys are written through a ketama ring over status.nodes.", keys)
		return d.count(ctx, cache, "", keys)
	})
}

// read reads all keys from the current nodes, and prints how many it finds and why. It fails if it finds fewer than least.
func (d *demo) read(ctx context.Context, why string, least int) error {
	return d.withCache(ctx, func(cache *traffic.Client) error { return d.count(ctx, cache, why, least) })
}

func (d *demo) count(ctx context.Context, cache *traffic.Client, why string, least int) error {
	hits, err := cache.Read(ctx, keys)
	if err != nil {
		return fmt.Errorf("reading keys: %w", err)
	}
	d.out.outcome("%d of %d keys are found. %s", hits.Hits, hits.Keys, why)
	if hits.Wrong > 0 || hits.Errors > 0 || hits.Hits < least {
		return fmt.Errorf("at least %d keys and no error were expected: %+v", least, hits)
	}
	return nil
}

func (d *demo) withCache(ctx context.Context, use func(*traffic.Client) error) error {
	servers, err := traffic.Servers(ctx, d.k8s, namespace, d.mc.Status.Nodes)
	if err != nil {
		return err
	}
	ring, err := traffic.NewRing(servers...)
	if err != nil {
		return err
	}
	cache := traffic.NewClient(ring, nil)
	return errors.Join(use(cache), cache.Close())
}
