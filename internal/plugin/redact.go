// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

const removed = "(removed)"

// lastApplied is an annotation that repeats the whole manifest, including the parts that redact removes.
const lastApplied = corev1.LastAppliedConfigAnnotation

// redact removes parts of an object that may be confidential or do not help: the environment of containers, the commands of
// containers that are not ours, the values of annotations that others have added, and the managed fields.
func redact(object client.Object) {
	object.SetManagedFields(nil)
	object.SetAnnotations(redactAnnotations(object.GetAnnotations()))
	meta, spec := podOf(object)
	if spec == nil {
		return
	}
	meta.Annotations = redactAnnotations(meta.Annotations)
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			c := &containers[i]
			redactEnv(c.Env)
			if !ours(c.Name) {
				redactForeign(c)
			}
		}
	}
	for i := range spec.EphemeralContainers {
		c := &spec.EphemeralContainers[i]
		redactEnv(c.Env)
		c.Command, c.Args = redactWords(c.Command), redactWords(c.Args)
	}
}

// redactForeign redacts a container that is not ours. It removes the commands of the container, and those of its probes and hooks. It also
// removes the header values of HTTP probes and hooks.
func redactForeign(c *corev1.Container) {
	c.Command, c.Args = redactWords(c.Command), redactWords(c.Args)
	for _, probe := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		if probe != nil {
			redactAction(probe.Exec, probe.HTTPGet)
		}
	}
	if c.Lifecycle != nil {
		for _, hook := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if hook != nil {
				redactAction(hook.Exec, hook.HTTPGet)
			}
		}
	}
}

func redactAction(exec *corev1.ExecAction, get *corev1.HTTPGetAction) {
	if exec != nil {
		exec.Command = redactWords(exec.Command)
	}
	if get != nil {
		for i := range get.HTTPHeaders {
			get.HTTPHeaders[i].Value = removed
		}
	}
}

// redactAnnotations removes the annotation lastApplied. It replaces the values of annotations that neither the operator nor Kubernetes
// writes.
func redactAnnotations(annotations map[string]string) map[string]string {
	kept := maps.Clone(annotations)
	delete(kept, lastApplied)
	for key := range kept {
		domain, _, _ := strings.Cut(key, "/")
		if domain != cachev1alpha1.GroupVersion.Group && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io") {
			kept[key] = removed
		}
	}
	return kept
}

func redactWords(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	return []string{removed}
}

func redactEnv(env []corev1.EnvVar) {
	for i := range env {
		if env[i].Value != "" {
			env[i].Value = removed
		}
	}
}

// redactLog copies a log of memcached. If the log contains requests, redactLog leaves it out, and writes only how many lines are about
// requests. It does not suffice to leave out just these lines: memcached logs a request in pieces, so a part of a key may be on a
// separate line.
func redactLog(out io.Writer, log io.Reader) error {
	content, err := io.ReadAll(log)
	if err != nil {
		return err
	}
	traffic := 0
	for line := range strings.Lines(string(content)) {
		if isTraffic(line) {
			traffic++
		}
	}
	if traffic > 0 {
		content = fmt.Appendf(nil, "(left out: memcached has logged requests, in %d lines, and with them keys)\n", traffic)
	}
	_, err = out.Write(content)
	return err
}

// isTraffic reports whether a line of memcached's log may be about a request, such as "<28 get key", ">28 sending key key",
// "28: ..." or "> FOUND KEY key".
func isTraffic(line string) bool {
	line = strings.TrimLeft(line, " ")
	return line != "" && strings.ContainsRune("<>0123456789", rune(line[0]))
}
