// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

func memory(quantity string) func(*cachev1alpha1.MemcachedSpec) {
	return func(s *cachev1alpha1.MemcachedSpec) { s.Config.Memory = ptr.To(resource.MustParse(quantity)) }
}

func TestThreads(t *testing.T) {
	for _, c := range []struct {
		threads        int32
		limit, request string
		want           int32
	}{
		{0, "", "", 4},
		{0, "", "2", 4},
		{7, "", "", 7},
		{7, "2", "", 7},
		{64, "", "", 64},
		{0, "2", "", 2},
		{0, "100m", "", 1},
		{0, "1", "", 1},
		{0, "1001m", "", 2},
		{0, "1500m", "", 2},
		{0, "0", "", 1},
		{0, "64", "", 64},
		{0, "64001m", "", 64},
		{0, "1000", "", 64},
		{0, "100P", "", 64},
	} {
		mc := memcachedtest.Cache(3)
		mc.Spec.Config.Threads = c.threads
		if c.limit != "" {
			mc.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(c.limit)}
		}
		if c.request != "" {
			mc.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(c.request)}
		}
		if got := sizingOf(mc).threads; got != c.want {
			t.Errorf("threads %d, CPU limit %q, request %q: %d, not %d", c.threads, c.limit, c.request, got, c.want)
		}
	}
}

// TestItemSize covers multiples of 512 KiB, the only sizes that the schema allows. memcached's -I allows only the suffixes k and m.
func TestItemSize(t *testing.T) {
	for size, want := range map[string]string{
		"512Ki": "512k", "1Mi": "1m", "1536Ki": "1536k", "2Mi": "2m", "1048576": "1m", "524288": "512k",
		"0.5Mi": "512k", "1Gi": "1024m", "1023.5Mi": "1048064k",
	} {
		mc := memcachedtest.Cache(3)
		mc.Spec.Config.MaxItemSize = ptr.To(resource.MustParse(size))
		if got := itemSize(mc); got != want {
			t.Errorf("%s: -I %s, not %s", size, got, want)
		}
	}
}

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
		if want := memcached.NodeArgs(list, nil); !slices.Equal(args, want) || !found || list.Target != asked.Arguments || asked.Former != nil {
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
