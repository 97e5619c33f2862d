// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// checkArgumentsConfigMap checks that the ConfigMap has what nodes need for their first start: one argument list, and a section
// that assigns it to all nodes.
func checkArgumentsConfigMap(t *testing.T, mc *cachev1alpha1.Memcached, object *corev1.ConfigMap, objects []client.Object) {
	t.Helper()
	list := onlyList(t, object)
	checkArguments(t, list.Arguments)
	want := protocol.Section{Default: list.Hash(), Nodes: map[int]string{}}
	for ordinal := range int(mc.Spec.Size) {
		want.Nodes[ordinal] = list.Hash()
	}
	section := ""
	for _, other := range objects {
		if template := memcached.PodTemplate(other); template != nil {
			section = template.Annotations[memcached.TemplateAnnotation]
		}
	}
	data := map[string]string{protocol.ListKey(list.Hash()): list.String(), protocol.SectionKey(section): want.String()}
	if section == "" || !maps.Equal(object.Data, data) || len(object.BinaryData) != 0 {
		t.Errorf("the arguments of the template %q are %v, want %v", section, object.Data, data)
	}
	if restarted := mc.Spec.RestartedAt; (list.RestartedAt == "") != restarted.IsZero() {
		t.Errorf("the nodes restarted at %q, the spec says %v", list.RestartedAt, restarted)
	}
}

// onlyList returns the argument list in a ConfigMap. It fails if there is not exactly one, or if a launcher would refuse it.
func onlyList(t *testing.T, object *corev1.ConfigMap) protocol.List {
	t.Helper()
	var found []protocol.List
	for key, text := range object.Data {
		hash, ok := protocol.ListHash(key)
		if !ok {
			continue
		}
		list, err := protocol.ParseList(text)
		if err != nil || list.Hash() != hash {
			t.Errorf("a launcher refuses %s: %v", key, err)
		}
		found = append(found, list)
	}
	if len(found) != 1 {
		t.Fatalf("there are %d lists in %v", len(found), object.Data)
	}
	return found[0]
}

// checkArguments checks the arguments of memcached, which are in a pod template or a ConfigMap.
func checkArguments(t *testing.T, args []string) {
	t.Helper()
	if !regexp.MustCompile(protocol.Pattern).MatchString(strings.Join(args, " ")) {
		t.Errorf("a launcher refuses %v", args)
	}
	udp := slices.Index(args, "-U")
	if slices.Contains(args, "-A") || !slices.Contains(args, "-W") || udp < 0 || args[udp+1] != "0" {
		t.Errorf("args %v", args)
	}
}

// checkCommands checks the commands of the containers. Without a launcher, it also checks memcached's arguments, which are then in
// the template.
func checkCommands(t *testing.T, template corev1.PodTemplateSpec) {
	t.Helper()
	section := template.Annotations[memcached.TemplateAnnotation]
	commands := map[string][]string{memcached.ContainerName: {"memcached"}, memcached.AgentContainerName: {"/agent"}}
	args := template.Spec.Containers[0].Args
	if section == "" {
		checkArguments(t, args)
	} else {
		commands[memcached.ContainerName] = []string{"/run/launcher/launcher"}
		commands[memcached.LauncherContainerName] = []string{"/launcher", "install", "/run/launcher/launcher"}
		if !slices.Equal(args, []string{"--template=" + section}) {
			t.Errorf("the launcher of the template %q has the arguments %v", section, args)
		}
	}
	seen := 0
	for _, container := range slices.Concat(template.Spec.Containers, template.Spec.InitContainers) {
		if container.Image == "" || !slices.Equal(container.Command, commands[container.Name]) {
			t.Errorf("%s: image %q runs %v", container.Name, container.Image, container.Command)
		}
		if container.Name == memcached.LauncherContainerName {
			seen++
		}
	}
	if (seen == 1) != (section != "") {
		t.Errorf("%d containers install a launcher for the template %q", seen, section)
	}
}
