// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// checkVolumes has that Secrets are mounted by the agent alone, and that memcached reads what the agent has checked.
func checkVolumes(t *testing.T, spec corev1.PodSpec) {
	t.Helper()
	readers := map[string][]string{}
	for _, container := range slices.Concat(spec.Containers, spec.InitContainers) {
		for _, mount := range container.VolumeMounts {
			readers[mount.Name] = append(readers[mount.Name], fmt.Sprintf("%s %s %t", container.Name, mount.MountPath, mount.ReadOnly))
		}
	}
	for _, volume := range spec.Volumes {
		want := map[string][]string{
			"tls-secret":   {"memcached-agent /etc/memcached-agent/tls true"},
			"users-secret": {"memcached-agent /etc/memcached-agent/users true"},
			"credentials":  {"memcached /run/memcached true", "memcached-agent /run/memcached false"},
		}[volume.Name]
		if !slices.Equal(readers[volume.Name], want) {
			t.Errorf("%s is mounted by %q", volume.Name, readers[volume.Name])
		}
		delete(readers, volume.Name)
		switch {
		case volume.Name == "credentials" && (volume.EmptyDir == nil || volume.EmptyDir.Medium != corev1.StorageMediumMemory):
			t.Errorf("%s is not in memory: %+v", volume.Name, volume)
		case volume.Name != "credentials" && (volume.Projected == nil || len(volume.Projected.Sources) != 1 || volume.Projected.Sources[0].Secret == nil):
			t.Errorf("%s is not a Secret alone: %+v", volume.Name, volume)
		}
	}
	if len(readers) != 0 {
		t.Errorf("volumes that are not there are mounted: %v", readers)
	}
}
