// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// credentialArgs returns the arguments for TLS and for users. The agent always reaches memcached without TLS, on the loopback
// address.
func credentialArgs(mc *cachev1alpha1.Memcached) []string {
	var args []string
	if mc.Spec.TLS != nil {
		plaintext := "127.0.0.1"
		if memcached.HasPlaintext(mc) {
			plaintext = "*"
		}
		args = append(args, "-Z", "-l", fmt.Sprintf("notls:%s:%d,*:%d", plaintext, memcached.Port, memcached.TLSPort))
	}
	if mc.Spec.Auth != nil {
		args = append(args, "-Y", currentPath+"/users")
	}
	return args
}

// tlsOptions returns memcached's -o options for TLS, or "". With ssl_verify_mode=2, memcached refuses clients without a
// certificate; with 1, it accepts them.
func tlsOptions(mc *cachev1alpha1.Memcached) string {
	if mc.Spec.TLS == nil {
		return ""
	}
	version := 2
	if mc.Spec.TLS.MinVersion == cachev1alpha1.TLSVersion13 {
		version = 3
	}
	options := fmt.Sprintf(",ssl_chain_cert=%s/tls.crt,ssl_key=%[1]s/tls.key,ssl_min_version=%d", currentPath, version)
	if requiresClientCertificates(mc.Spec.TLS) {
		options += fmt.Sprintf(",ssl_ca_cert=%s/ca.crt,ssl_verify_mode=2", currentPath)
	}
	return options
}

// Volumes of pods with certificates or users. Only the agent mounts the Secrets. It copies valid content to checkedVolume, which
// memcached also mounts. So memcached never reads a part of a change, and can restart while a Secret is invalid.
const (
	tlsSecretVolume   = "tls-secret"
	usersSecretVolume = "users-secret"
	checkedVolume     = "credentials"
)

// Mount paths. The agent replaces currentPath, a symbolic link, atomically.
const (
	tlsSourcePath   = "/etc/memcached-agent/tls"
	usersSourcePath = "/etc/memcached-agent/users"
	checkedPath     = "/run/memcached"
	// currentPath is the directory from which memcached reads certificates and users.
	currentPath = checkedPath + "/current"
)

// hasCredentials reports whether the agent gives memcached certificates or users.
func (a agent) hasCredentials() bool { return a.tls != nil || a.auth != nil }

// requiresClientCertificates reports whether clients need a certificate.
func requiresClientCertificates(tls *cachev1alpha1.MemcachedTLS) bool {
	return tls != nil && tls.ClientAuth == cachev1alpha1.ClientAuthRequire
}

// volumes returns the volumes for certificates and users. The Secrets are optional, so that the agent starts even if a Secret is missing,
// and can report this.
func (a agent) volumes() []corev1.Volume {
	var all []corev1.Volume
	if a.tls != nil {
		keys := []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey}
		if requiresClientCertificates(a.tls) {
			keys = append(keys, "ca.crt")
		}
		all = append(all, secretVolume(tlsSecretVolume, a.tls.SecretName, keys...))
	}
	if a.auth != nil {
		all = append(all, secretVolume(usersSecretVolume, a.auth.SecretName))
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

func (a agent) mounts() []corev1.VolumeMount {
	if !a.hasCredentials() {
		return nil
	}
	var mounts []corev1.VolumeMount
	if a.tls != nil {
		mounts = append(mounts, corev1.VolumeMount{Name: tlsSecretVolume, MountPath: tlsSourcePath, ReadOnly: true})
	}
	if a.auth != nil {
		mounts = append(mounts, corev1.VolumeMount{Name: usersSecretVolume, MountPath: usersSourcePath, ReadOnly: true})
	}
	return append(mounts, corev1.VolumeMount{Name: checkedVolume, MountPath: checkedPath})
}
