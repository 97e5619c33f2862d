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
)

const removed = "(removed)"

// lastApplied repeats a manifest, with everything that is removed here.
const lastApplied = corev1.LastAppliedConfigAnnotation

// redact removes from an object what a stranger need not see: the environment of containers that others put into the pods, and
// who owns which field.
func redact(object client.Object) {
	object.SetManagedFields(nil)
	if annotations := object.GetAnnotations(); annotations[lastApplied] != "" {
		annotations = maps.Clone(annotations)
		delete(annotations, lastApplied)
		object.SetAnnotations(annotations)
	}
	template := podSpecOf(object)
	if template == nil {
		return
	}
	for _, containers := range [][]corev1.Container{template.InitContainers, template.Containers} {
		for i := range containers {
			redactEnv(containers[i].Env)
		}
	}
	for i := range template.EphemeralContainers {
		redactEnv(template.EphemeralContainers[i].Env)
	}
}

func redactEnv(env []corev1.EnvVar) {
	for i := range env {
		if env[i].Value != "" {
			env[i].Value = removed
		}
	}
}

// redactLog copies a log of memcached, unless it contains keys. After the command verbosity 2, which any client may send, memcached logs
// each request, from several threads and in pieces: a piece of a key can be a line of its own. So nothing is left of such a log.
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

// isTraffic reports whether a line of memcached's log is about a request: "<28 get key", ">28 sending key key", "28: ...",
// "> FOUND KEY key".
func isTraffic(line string) bool {
	line = strings.TrimLeft(line, " ")
	return line != "" && strings.ContainsRune("<>0123456789", rune(line[0]))
}
