// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/traffic"
)

const (
	namespace = "default"
	// sessions and pages are the caches of the story.
	sessions, pages = "sessions", "pages"
	createSessions  = `kubectl apply -f - <<END
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: sessions}
spec:
  size: 3
  workload: StatefulSet
  storage: {type: MemoryFile}          # items survive a restart of memcached,
  updateStrategy: {maxUnavailable: 3}  # so all may restart at once
  config: {memory: 128Mi}
  proxy: {}                            # the address sessions:11211
END`
	createPages = `kubectl apply -f - <<END
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: pages}
spec:
  size: 2
  workload: StatefulSet
  copies: 2                            # two nodes have each item
  image: memcached:1.6.54              # there is no such version
  scheduling: {affinity: {}}           # this cluster has one node only
END`
	getMessage   = `kubectl get memc pages -o jsonpath='{.status.conditions[?(@.type=="Ready")].message}'`
	getChildren  = "kubectl get all,poddisruptionbudgets,configmaps -l app.kubernetes.io/managed-by=memcached-operator"
	operatorLogs = "kubectl logs --namespace memcached-operator-system deployment/memcached-operator-controller-manager"
	// keys is how many keys the story sets in a cache: enough that each node gets about the same share. valueSize is the length of each value.
	keys, valueSize = 10_000, 100
)

type demo struct {
	out   *narrator
	image string
	// exit means that the demo ends after the story. logs is the command that shows the operator's log.
	exit bool
	logs string
	k8s  client.Client
	// mc is the cache of the chapter as it was last read.
	mc *cachev1alpha1.Memcached
}

// chapter is a part of the story: what users do, and its effect.
type chapter struct {
	title string
	steps []step
}

type step func(ctx context.Context) error

func (d *demo) story() []chapter {
	return []chapter{
		{"The operator is deployed to a Kubernetes cluster", []step{
			d.shell("kubectl get nodes"), d.shell("make --no-print-directory deploy IMG=" + d.image),
		}},
		{"A cache with three nodes has one address", []step{d.change(createSessions, sessions, 3), d.write}},
		{"Another configuration restarts every memcached, and costs no key", []step{
			d.change(`kubectl patch memc sessions --type merge -p '{"spec":{"config":{"idleTimeout":"10m"}}}'`, sessions, 3),
			d.read("Each memcached has been restarted with the new configuration.", keys),
		}},
		{"A pod is deleted, and its node comes back", []step{
			d.shell("kubectl delete pod sessions-1"), d.until(sessions, "3 of 3 nodes"), d.shell("kubectl get pod sessions-1"),
			d.read("Without copies, a lost node costs its share: here a third.", keys/2),
		}},
		{"A second cache has a mistake, and kubectl says which", []step{
			d.shell(createPages), d.until(pages, "The image "), d.shell("kubectl get memc pages"), d.shell(getMessage),
			d.change(`kubectl patch memc pages --type json -p '[{"op": "remove", "path": "/spec/image"}]'`, pages, 2), d.write,
		}},
		{"It has every item twice: a lost node costs nothing", []step{
			d.shell("kubectl delete pod pages-0"), d.shell("kubectl get pods -l app.kubernetes.io/instance=pages"),
			d.read("The other copy answers for the node that is away.", keys),
		}},
		// Proxies use new nodes two minutes after they are ready, for which the story does not wait.
		{"It is scaled from 2 to 3", []step{
			d.shell("kubectl scale memc pages --replicas 3"), d.until(pages, "all proxies lead to 3 nodes"), d.shell(getMessage),
			d.read("Until then, no key moves.", keys),
		}},
		{"Both are deleted, and nothing is left", []step{
			d.shell("kubectl delete memc sessions pages"), d.gone, d.shell(getChildren),
		}},
	}
}

// shell runs a command as a user would, and shows it with its output.
func (d *demo) shell(command string) step {
	return func(ctx context.Context) error {
		d.out.command(command)
		shell := exec.CommandContext(ctx, "sh", "-c", command)
		output, err := shell.StdoutPipe()
		if err == nil {
			shell.Stderr = shell.Stdout
			err = shell.Start()
		}
		if err == nil {
			d.out.lines(output)
			err = shell.Wait()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		return nil
	}
}

// change runs a command, and waits until the cache is Ready with this number of nodes.
func (d *demo) change(command, cache string, size int) step {
	return func(ctx context.Context) error {
		if err := d.shell(command)(ctx); err != nil {
			return err
		}
		err := d.await(ctx, cache, func(ready metav1.Condition) bool {
			return ready.Status == metav1.ConditionTrue && len(d.mc.Status.Nodes) == size
		})
		if err != nil {
			return err
		}
		return d.shell("kubectl get memc " + cache)(ctx)
	}
}

// until waits until the condition Ready of the cache says this.
func (d *demo) until(cache, words string) step {
	return func(ctx context.Context) error {
		return d.await(ctx, cache, func(ready metav1.Condition) bool { return strings.Contains(ready.Message, words) })
	}
}

// await waits until the operator has seen the last change of the cache, and the condition Ready is as it should be.
func (d *demo) await(ctx context.Context, cache string, asItShould func(ready metav1.Condition) bool) error {
	return d.poll(ctx, func(ctx context.Context) (string, error) {
		d.mc = &cachev1alpha1.Memcached{}
		if err := d.k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: cache}, d.mc); err != nil {
			return "", err
		}
		ready := meta.FindStatusCondition(d.mc.Status.Conditions, cachev1alpha1.ConditionReady)
		switch {
		case ready == nil || d.mc.Status.ObservedGeneration != d.mc.Generation:
			return "the operator has not seen the change yet", nil
		case !asItShould(*ready):
			return fmt.Sprintf("Ready is %s (%s: %s)", ready.Status, ready.Reason, ready.Message), nil
		}
		return "", nil
	})
}

// gone waits until nothing is left of the caches.
func (d *demo) gone(ctx context.Context) error {
	return d.poll(ctx, func(ctx context.Context) (string, error) {
		left, err := exec.CommandContext(ctx, "sh", "-c", getChildren+" -o name").Output()
		return strings.Join(strings.Fields(string(left)), ", "), err
	})
}

// write sets the keys through the one address of the cache, as if that were a single memcached, and reads them back.
func (d *demo) write(ctx context.Context) error {
	cache, err := d.client()
	if err != nil {
		return err
	}
	if err := errors.Join(cache.Write(ctx, keys, valueSize), cache.Close()); err != nil {
		return fmt.Errorf("setting keys: %w", err)
	}
	return d.read("They were set through "+d.mc.Status.Address+", as in a single memcached.", keys)(ctx)
}

// read reads all keys through the address of the cache, and says how many it finds and why. It fails if it finds fewer than least.
func (d *demo) read(why string, least int) step {
	return func(ctx context.Context) error {
		cache, err := d.client()
		if err != nil {
			return err
		}
		hits, err := cache.Read(ctx, keys)
		if err := errors.Join(err, cache.Close()); err != nil {
			return fmt.Errorf("reading keys: %w", err)
		}
		d.out.outcome("%d of %d keys are found. %s", hits.Hits, hits.Keys, why)
		if hits.Wrong > 0 || hits.Errors > 0 || hits.Hits < least {
			return fmt.Errorf("at least %d keys and no error were expected: %+v", least, hits)
		}
		return nil
	}
}

// client returns a client that knows only the address of the cache.
func (d *demo) client() (*traffic.Client, error) {
	address, err := traffic.NewRing(traffic.Server{Name: d.mc.Name, Address: d.mc.Status.Address})
	if err != nil {
		return nil, err
	}
	return traffic.NewClient(address, nil), nil
}
