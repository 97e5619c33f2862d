// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

type edit = func(*cachev1alpha1.Memcached)

func encryptedBy(secret string) edit {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: secret} }
}

func withPlaintext(mc *cachev1alpha1.Memcached) {
	mc.Spec.TLS.Plaintext = cachev1alpha1.PlaintextEnabled
}

func usersOf(secret string) edit {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.Auth = &cachev1alpha1.MemcachedAuth{SecretName: secret} }
}

// checkVolumes checks which containers mount each volume. Only the agent mounts Secrets, and memcached reads the copies that the
// agent has checked.
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
			"parent":       {"memcached /run/parent false", "install-agent /run/parent false"},
			"arguments":    {"memcached /etc/memcached true"},
			"items":        {"memcached /run/memcached-items false"},
		}[volume.Name]
		if !slices.Equal(readers[volume.Name], want) {
			t.Errorf("%s is mounted by %q", volume.Name, readers[volume.Name])
		}
		delete(readers, volume.Name)
		inMemory := volume.Name == "credentials" || volume.Name == "items"
		switch {
		case inMemory && (volume.EmptyDir == nil || volume.EmptyDir.Medium != corev1.StorageMediumMemory):
			t.Errorf("%s is not in memory: %+v", volume.Name, volume)
		case volume.Name == "parent" && (volume.EmptyDir == nil || volume.EmptyDir.Medium != "" || volume.EmptyDir.SizeLimit.IsZero()):
			t.Errorf("%s has no bound, or is in memory: %+v", volume.Name, volume)
		case volume.Name == "arguments" && (volume.ConfigMap == nil || len(volume.ConfigMap.Items) != 0 || !*volume.ConfigMap.Optional):
			t.Errorf("%s is no ConfigMap that may be missing: %+v", volume.Name, volume)
		case inMemory, volume.Name == "parent", volume.Name == "arguments":
		case volume.Projected == nil || len(volume.Projected.Sources) != 1:
			t.Errorf("%s has not one source: %+v", volume.Name, volume)
		case volume.Projected.Sources[0].Secret == nil:
			t.Errorf("%s is no Secret: %+v", volume.Name, volume)
		}
	}
	if len(readers) != 0 {
		t.Errorf("volumes that are not there are mounted: %v", readers)
	}
}
