// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Volumes of pods with certificates or users. Only the agent mounts the Secrets. It copies valid content to checkedVolume, which
// memcached also mounts. So memcached never reads a part of a change, and can restart while a Secret is invalid.
const (
	tlsSecretVolume   = "tls-secret"
	usersSecretVolume = "users-secret"
	checkedVolume     = "credentials"
)

// Mount paths. The agent replaces CurrentPath, a symbolic link, atomically.
const (
	tlsSourcePath   = "/etc/memcached-agent/tls"
	usersSourcePath = "/etc/memcached-agent/users"
	checkedPath     = "/run/memcached"
	// CurrentPath is the directory from which memcached reads certificates and users.
	CurrentPath = checkedPath + "/current"
)

// hasCredentials reports whether the agent gives memcached certificates or users.
func (a Agent) hasCredentials() bool { return a.TLS != nil || a.Auth != nil }

// RequiresClientCertificates reports whether clients need a certificate.
func RequiresClientCertificates(tls *cachev1alpha1.MemcachedTLS) bool {
	return tls != nil && tls.ClientAuth == cachev1alpha1.ClientAuthRequire
}

// volumes returns the volumes for certificates and users. The Secrets are optional, so that the agent starts even if a Secret is missing,
// and can report this.
func (a Agent) volumes() []corev1.Volume {
	var all []corev1.Volume
	if a.TLS != nil {
		keys := []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey}
		if RequiresClientCertificates(a.TLS) {
			keys = append(keys, "ca.crt")
		}
		all = append(all, secretVolume(tlsSecretVolume, a.TLS.SecretName, keys...))
	}
	if a.Auth != nil {
		all = append(all, secretVolume(usersSecretVolume, a.Auth.SecretName))
	}
	return append(all, corev1.Volume{Name: checkedVolume, VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: ptr.To(resource.MustParse("1Mi"))},
	}})
}

// secretVolume returns a volume with these keys of a Secret, or with all keys if none is given.
func secretVolume(name, secret string, keys ...string) corev1.Volume {
	projection := &corev1.SecretProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: secret},
		Optional:             ptr.To(true),
	}
	for _, key := range keys {
		projection.Items = append(projection.Items, corev1.KeyToPath{Key: key, Path: key})
	}
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: ptr.To(int32(0o444)), // root owns the files, and the agent does not run as root
		Sources:     []corev1.VolumeProjection{{Secret: projection}},
	}}}
}

func (a Agent) mounts() []corev1.VolumeMount {
	if !a.hasCredentials() {
		return nil
	}
	var mounts []corev1.VolumeMount
	if a.TLS != nil {
		mounts = append(mounts, corev1.VolumeMount{Name: tlsSecretVolume, MountPath: tlsSourcePath, ReadOnly: true})
	}
	if a.Auth != nil {
		mounts = append(mounts, corev1.VolumeMount{Name: usersSecretVolume, MountPath: usersSourcePath, ReadOnly: true})
	}
	return append(mounts, corev1.VolumeMount{Name: checkedVolume, MountPath: checkedPath})
}
