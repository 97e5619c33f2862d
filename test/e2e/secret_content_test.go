// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/clustertest"
)

// shortestPrivate is the length of the shortest words that count as secret. The words in the header and the footer of PEM are shorter.
const shortestPrivate = len("CERTIFICATE-----") + 1

// private is what must stay secret: words of the values in Secrets, and the values in base64, as Kubernetes writes them.
type private struct{ words map[string]bool }

// add remembers the content of a Secret: one line of each PEM text, the words of other values, and each value in
// base64. It leaves out short words, which may be anywhere by chance.
func (p *private) add(content map[string][]byte) {
	if p.words == nil {
		p.words = map[string]bool{}
	}
	for _, value := range content {
		words := strings.Fields(string(value))
		words = slices.DeleteFunc(words, func(word string) bool { return len(word) < shortestPrivate })
		if strings.HasPrefix(string(value), "-----BEGIN ") {
			words = words[len(words)/2:][:1]
		}
		for _, word := range append(words, base64.StdEncoding.EncodeToString(value)) {
			if len(word) >= shortestPrivate {
				p.words[word] = true
			}
		}
	}
}

func (p *private) addAll(other private) {
	p.add(nil)
	maps.Copy(p.words, other.words)
}

// mustStayPrivate fails if an object, an event, a metric, a log or an argument of a process contains any of the words.
func (p *private) mustStayPrivate(ctx context.Context, namespace string) {
	GinkgoHelper()
	By("telling no secret to anybody")
	Expect(p.words).NotTo(BeEmpty())
	said := saidIn(ctx, namespace)
	for where, word := range map[string]string{ // this proves that all kinds of places were read
		"objects": "kind: Event\n", "metrics of ": "\nmemcached_up 1\n", "/var/log/pods/" + namespace: `"msg":"Serving"`,
		"/var/log/pods/" + operatorNamespace: `"msg":`, clusterDir: "kubelet", "arguments of ": "--credentials=/run/memcached",
	} {
		Expect(said.with(word)).To(ContainElement(HavePrefix(where)), "places that say %q", word)
	}
	for word := range p.words {
		Expect(said.with(word)).To(BeEmpty(), "places that say what a Secret held: %.20s...", word)
	}
}

// places maps each place, such as the path of a log, to the text that was found there.
type places map[string]string

// with returns the places whose text contains a word.
func (p places) with(word string) []string {
	var found []string
	for _, place := range slices.Sorted(maps.Keys(p)) {
		if strings.Contains(p[place], word) {
			found = append(found, place)
		}
	}
	return found
}

// saidIn returns the objects, metrics and logs in a namespace, the logs of the operator and of the cluster, and the
// arguments of all processes.
func saidIn(ctx context.Context, namespace string) places {
	GinkgoHelper()
	said := places{"objects": k8s.Kubectl(ctx, "get", "--namespace", namespace, "--output=yaml",
		"memcacheds.cache.example.com,deployments,replicasets,statefulsets,pods,events,configmaps,services,endpointslices")}
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			said["metrics of "+pods.Items[i].Name] = scrape(ctx, agentOf(&pods.Items[i]))
		}
	}
	// These folders also have the logs of earlier containers. Audit logs are left out, because they are large and have no
	// request bodies.
	for _, pattern := range []string{
		"/var/log/pods/" + namespace + "_*/*/*", "/var/log/pods/" + operatorNamespace + "_*/*/*", clusterDir + "/*.log",
	} {
		for _, file := range clustertest.Must(filepath.Glob(pattern)) {
			if !strings.HasPrefix(filepath.Base(file), "audit") {
				said[file] = string(clustertest.Must(os.ReadFile(file)))
			}
		}
	}
	for _, file := range clustertest.Must(filepath.Glob("/proc/[0-9]*/cmdline")) {
		arguments, _ := os.ReadFile(file) // the process may have ended
		said[fmt.Sprintf("arguments of %s", filepath.Base(filepath.Dir(file)))] = string(arguments)
	}
	return said
}
