// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestDebug checks that the archive has what support needs, but no keys, values or passwords. problems.txt must name what is missing.
func TestDebug(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, services := list.(*corev1.ServiceList); services {
				return errors.New(`services is forbidden: User "jane" cannot list resource "services"`)
			}
			return c.List(ctx, list, options...)
		},
	})
	const key, value, password = "user:42", "a-private-value", "a-password"
	if got := w.run(t, "", "set", "pages", key, value); got.code != 0 {
		t.Fatal(got)
	}
	w.logs["pages-0/memcached"] = "<28 get user:42\n> FOUND KEY user:42\nMaximum connections must be greater than 0\n"
	w.logs["pages-1/memcached"] = ""
	w.logs["operator-1/manager"] = "2026-01-02T03:04:05Z INFO Starting\n"
	change(t, w, &corev1.Pod{}, "pages-0", func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "PASSWORD", Value: password}}
		pod.Annotations = map[string]string{lastApplied: password, "example.com/token": password, "cache.example.com/note": "ours"}
		pod.Spec.Containers[0].Args = []string{"-m", "64"}
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: "injected", Image: "injected", Command: []string{"run", password}, Args: []string{"--password=" + password},
		})
		pod.Status.ContainerStatuses[0].RestartCount = 1
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: "injected"})
	})
	w.memcacheds["pages-1"].hangs = true
	for _, object := range []client.Object{
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "memcached-operator-system", Name: "operator-1", Labels: map[string]string{
				"app.kubernetes.io/name": "memcached-operator", "control-plane": "controller-manager",
			}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "manager"}}},
		},
		event("pages", "Memcached", "Scaled"), event("pages-0", "Pod", "Started"), event("sessions", "Memcached", "NotOurs"),
	} {
		if err := w.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}

	file := filepath.Join(t.TempDir(), "pages.tar.gz")
	got := w.run(t, "", "debug", "pages", "--file="+file, "--node-timeout=1s")
	if got.code != 0 || got.stdout != file+"\n" || !strings.Contains(got.stderr, "3 parts could not be collected") {
		t.Fatal(got)
	}
	files := contentOf(t, file)
	for _, want := range []string{"cache.example.com/note: ours", "example.com/token: (removed)", "    - -m\n    - \"64\"\n", "    - (removed)\n"} {
		if !strings.Contains(files["pages/pods.yaml"], want) {
			t.Errorf("pods.yaml does not contain %q:\n%s", want, files["pages/pods.yaml"])
		}
	}
	for name, content := range files {
		for _, private := range []string{key, value, password} {
			if strings.Contains(content, private) {
				t.Errorf("%s contains %s", name, private)
			}
		}
	}
	for name, want := range map[string]string{
		"versions.txt":                    "kubectl-memcached: v1.2.3\nKubernetes: v1.37.0\ntime: 2026-01-02T03:04:05Z\n",
		"memcached.yaml":                  "kind: Memcached",
		"pods.yaml":                       "name: PASSWORD\n      value: (removed)",
		"events.txt":                      "2026-01-02T03:04:05Z Normal Scaled Memcached/pages: something happened\n",
		"logs/pages-0/memcached.log":      "(left out: memcached has logged requests, in 2 lines, and with them keys)\n",
		"operator/operator-1/manager.log": "2026-01-02T03:04:05Z INFO Starting\n",
		"statistics/pages-0.yaml":         "limit_maxbytes:",
		"problems.txt":                    "services.yaml: services is forbidden",
	} {
		if !strings.Contains(files["pages/"+name], want) {
			t.Errorf("%s does not contain %q:\n%s", name, want, files["pages/"+name])
		}
	}
	if strings.Contains(files["pages/events.txt"], "NotOurs") {
		t.Error("events.txt has an event about another Memcached")
	}
	for _, want := range []string{"memcached-previous.log: the log was rotated", "statistics of pages-1: no answer in time"} {
		if !strings.Contains(files["pages/problems.txt"], want) {
			t.Errorf("problems.txt does not contain %q:\n%s", want, files["pages/problems.txt"])
		}
	}
	if slices.ContainsFunc(strings.Split(got.stderr, "\n"), func(line string) bool { return strings.Contains(line, "injected") }) {
		t.Errorf("the log of an injected container was read: %s", got.stderr)
	}
	if again := w.run(t, "", "debug", "pages", "--file="+file); again.code != 1 {
		t.Errorf("the file was overwritten: %s", again)
	}
}

func event(name, kind, reason string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "shop", Name: name + "." + strings.ToLower(reason)},
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name},
		Type:           corev1.EventTypeNormal, Reason: reason, Message: "something happened",
		LastTimestamp: metav1.Time{Time: now},
	}
}

func contentOf(t *testing.T, file string) map[string]string {
	t.Helper()
	archive, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for reader := tar.NewReader(unzipped); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(content)
	}
}
