// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/internal/memcached"
)

// bundle is the archive that the command "debug" writes. A step that fails adds a line to problems, and the other steps still run.
type bundle struct {
	session  *session
	cluster  *cluster
	now      time.Time
	folder   string
	zip      *gzip.Writer
	archive  *tar.Writer
	problems []string
	// failure is the first error in writing the archive.
	failure error
}

func newBundle(out io.Writer, s *session, c *cluster, now time.Time) *bundle {
	zip := gzip.NewWriter(out)
	return &bundle{session: s, cluster: c, now: now, zip: zip, archive: tar.NewWriter(zip)}
}

// collect writes all files except problems.txt, and prints each step on standard error.
func (b *bundle) collect(ctx context.Context, mc *cachev1alpha1.Memcached, operatorNamespace string) {
	b.folder = mc.Name
	b.step("versions")
	b.add("versions.txt", b.versions())
	b.step("objects and events")
	b.addObjects(ctx, "", "memcached.yaml", mc.DeepCopy())
	pods, err := b.cluster.pods(ctx, mc)
	b.note(err, "pods")
	b.step("statistics of " + nodeCount(len(pods)))
	b.addStatistics(ctx, pods, topics...)
	b.step("logs")
	for i := range pods {
		b.addLogs(ctx, &pods[i], "logs", ours)
	}
	b.addProxies(ctx, mc.Name)
	var operators corev1.PodList
	err = b.cluster.List(ctx, &operators, client.InNamespace(operatorNamespace), client.MatchingLabels{
		"app.kubernetes.io/name": "memcached-operator", "control-plane": "controller-manager",
	})
	b.note(err, "the pods of the operator")
	for i := range operators.Items {
		b.addLogs(ctx, &operators.Items[i], operatorLogs, func(string) bool { return true })
	}
	if err == nil && len(operators.Items) == 0 {
		b.problems = append(b.problems,
			"the operator has no pods in the namespace "+operatorNamespace+": --operator-namespace names another one")
	}
}

// addObjects writes a Memcached or a MemcachedProxy, its child objects and the events about them into a folder.
func (b *bundle) addObjects(ctx context.Context, folder, file string, owner client.Object) {
	manifest, err := manifestOf(owner, b.cluster.Scheme())
	b.addUnless(err, folder+file, manifest)
	for _, kind := range kindsToCollect(owner.GetName()) {
		err := b.cluster.List(ctx, kind.list, client.InNamespace(owner.GetNamespace()), kind.labels)
		var manifests []byte
		if err == nil {
			manifests, err = manifestsOf(kind.list, b.cluster.Scheme())
		}
		b.addUnless(err, folder+kind.file, manifests)
	}
	events, err := b.events(ctx, owner)
	b.addUnless(err, folder+"events.txt", events)
}

func (b *bundle) step(name string) { fmt.Fprintln(b.session.ErrOut, "collecting "+name) }

func (b *bundle) versions() []byte {
	version, err := b.cluster.serverVersion()
	b.note(err, "the version of Kubernetes")
	return fmt.Appendf(nil, "kubectl-memcached: %s\nKubernetes: %s\ntime: %s\n", b.session.version, version, timestamp(b.now))
}

// ours reports whether a container is memcached or its agent. redactLog understands only their logs.
func ours(container string) bool {
	return container == memcached.ContainerName || container == memcached.AgentContainerName
}

// operatorLogs is the folder of the operator's logs. They are not redacted, because the operator knows no keys of caches.
const operatorLogs = "operator"

// logLines and logBytes limit each log.
const logLines, logBytes = 2000, 4 << 20

func (b *bundle) addLogs(ctx context.Context, pod *corev1.Pod, folder string, wanted func(container string) bool) {
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if !wanted(container.Name) {
			continue
		}
		b.addLog(ctx, pod, path.Join(folder, pod.Name, container.Name+".log"), container.Name, false)
		if container.RestartCount > 0 {
			b.addLog(ctx, pod, path.Join(folder, pod.Name, container.Name+"-previous.log"), container.Name, true)
		}
	}
}

func (b *bundle) addLog(ctx context.Context, pod *corev1.Pod, file, container string, previous bool) {
	log, err := b.cluster.logs(ctx, pod, &corev1.PodLogOptions{
		Container: container, Previous: previous, TailLines: ptr.To[int64](logLines), LimitBytes: ptr.To[int64](logBytes),
	})
	if err != nil {
		b.note(err, file)
		return
	}
	var content bytes.Buffer
	if folder, _, _ := strings.Cut(file, "/"); folder == operatorLogs {
		_, err = content.ReadFrom(log)
	} else {
		err = redactLog(&content, log)
	}
	b.note(errors.Join(err, log.Close()), file)
	b.add(file, content.Bytes())
}

// addStatistics writes the general statistics of each node, and those of the topics. The statistics of a topic must not contain keys.
func (b *bundle) addStatistics(ctx context.Context, pods []corev1.Pod, topics ...string) {
	statistics := make([]map[string]map[string]string, len(pods))
	failures := b.session.askEach(ctx, b.cluster, pods, func(i int) question {
		return func(ctx context.Context, conn *memcache.Conn) error {
			statistics[i] = map[string]map[string]string{}
			for _, topic := range append([]string{""}, topics...) {
				stats, err := conn.Stats(ctx, strings.Fields(topic)...)
				if err != nil {
					return err
				}
				statistics[i][cmp.Or(topic, "general")] = stats
			}
			return nil
		}
	})
	for i := range pods {
		if failures[i] != nil {
			b.problems = append(b.problems, fmt.Sprintf("statistics of %s: %s", pods[i].Name, unreachable(failures[i])))
			continue
		}
		document, err := yaml.Marshal(statistics[i])
		b.addUnless(err, path.Join("statistics", pods[i].Name+".yaml"), document)
	}
}

// events returns the events about a resource as text, one line each.
func (b *bundle) events(ctx context.Context, owner client.Object) ([]byte, error) {
	about, err := b.cluster.events(ctx, owner)
	if err != nil {
		return nil, err
	}
	var lines []byte
	for i := range about {
		event := &about[i]
		lines = fmt.Appendf(lines, "%s %s %s %s/%s: %s\n", timestamp(lastSeen(event)), event.Type, event.Reason,
			event.InvolvedObject.Kind, event.InvolvedObject.Name, printable(event.Message))
	}
	return lines, nil
}

// note adds an error to problems, unless it is nil.
func (b *bundle) note(err error, what string) {
	if err != nil {
		b.problems = append(b.problems, what+": "+explain(err))
	}
}

// addUnless adds a file if err is nil, else it notes err.
func (b *bundle) addUnless(err error, name string, content []byte) {
	if err != nil {
		b.note(err, name)
		return
	}
	b.add(name, content)
}

func (b *bundle) add(name string, content []byte) {
	if b.failure != nil {
		return
	}
	header := &tar.Header{Name: path.Join(b.folder, name), Mode: 0o600, Size: int64(len(content)), ModTime: b.now}
	if b.failure = b.archive.WriteHeader(header); b.failure == nil {
		_, b.failure = b.archive.Write(content)
	}
}

// close writes problems.txt and completes the archive.
func (b *bundle) close() error {
	if len(b.problems) > 0 {
		b.add("problems.txt", []byte(strings.Join(b.problems, "\n")+"\n"))
		fmt.Fprintf(b.session.ErrOut, "%d parts could not be collected: see problems.txt in the archive\n", len(b.problems))
	}
	return errors.Join(b.failure, b.archive.Close(), b.zip.Close())
}
