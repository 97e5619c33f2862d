// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// checkArguments checks the arguments of memcached, which are in a pod template or a ConfigMap.
func checkArguments(t *testing.T, args []string) {
	t.Helper()
	if !regexp.MustCompile(protocol.Pattern).MatchString(strings.Join(args, " ")) {
		t.Errorf("a parent refuses %v", args)
	}
	udp := slices.Index(args, "-U")
	if slices.Contains(args, "-A") || !slices.Contains(args, "-W") || udp < 0 || args[udp+1] != "0" {
		t.Errorf("args %v", args)
	}
}

// checkCommands checks the commands of the containers, and the arguments with which memcached starts.
func checkCommands(t *testing.T, template corev1.PodTemplateSpec) {
	t.Helper()
	commands := map[string][]string{memcached.ContainerName: {"memcached"}, memcached.AgentContainerName: {"/agent", "sidecar"}}
	args := template.Spec.Containers[0].Args
	launched := len(template.Spec.InitContainers) > 0
	if launched {
		commands[memcached.ContainerName] = []string{"/run/parent/parent", "node"}
		commands[memcached.InstallContainerName] = []string{"/agent", "install", "/run/parent/parent"}
		list := memcached.FirstList(&corev1.Pod{Spec: template.Spec})
		asked, found := memcached.AskedOf(template.Annotations)
		if want := memcached.NodeArgs(list); !slices.Equal(args, want) || !found || list.Target != asked.Arguments || asked.Former != nil {
			t.Errorf("the parent of memcached in a pod that is asked for %+v has the arguments %v, want %v", asked, args, want)
		}
		args = list.Fields()
	}
	checkArguments(t, args)
	seen := 0
	for _, container := range slices.Concat(template.Spec.Containers, template.Spec.InitContainers) {
		if container.Image == "" || !slices.Equal(container.Command, commands[container.Name]) {
			t.Errorf("%s: image %q runs %v", container.Name, container.Image, container.Command)
		}
		if container.Name == memcached.InstallContainerName {
			seen++
		}
	}
	if (seen == 1) != launched {
		t.Errorf("%d containers install the program", seen)
	}
}
