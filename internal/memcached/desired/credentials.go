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

// Volumes of pods with certificates or users. Only the agent mounts Secrets. It copies valid content to memory that it shares with
// memcached, so memcached never reads half of a change, and can restart while a Secret is broken.
const (
	tlsSecretVolume   = "tls-secret"
	usersSecretVolume = "users-secret"
	checkedVolume     = "credentials"
)

// Mount paths. The agent replaces "current" atomically, as the kubelet replaces the content of a Secret.
const (
	tlsSourcePath   = "/etc/memcached-agent/tls"
	usersSourcePath = "/etc/memcached-agent/users"
	checkedPath     = "/run/memcached"
	currentPath     = checkedPath + "/current"
)

// hasCredentials reports whether the agent hands certificates or users to memcached.
func hasCredentials(mc *cachev1alpha1.Memcached) bool {
	return mc.Spec.TLS != nil || mc.Spec.Auth != nil
}

// requiresClientCertificates reports whether clients need a certificate.
func requiresClientCertificates(mc *cachev1alpha1.Memcached) bool {
	return mc.Spec.TLS != nil && mc.Spec.TLS.ClientAuth == cachev1alpha1.ClientAuthRequire
}

// credentialVolumes returns the volumes for certificates and users. Secrets are optional: the agent starts without one and says
// what is missing.
func credentialVolumes(mc *cachev1alpha1.Memcached) []corev1.Volume {
	if !hasCredentials(mc) {
		return nil
	}
	var all []corev1.Volume
	if mc.Spec.TLS != nil {
		keys := []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey}
		if requiresClientCertificates(mc) {
			keys = append(keys, "ca.crt")
		}
		all = append(all, secretVolume(tlsSecretVolume, mc.Spec.TLS.SecretName, keys...))
	}
	if mc.Spec.Auth != nil {
		all = append(all, secretVolume(usersSecretVolume, mc.Spec.Auth.SecretName))
	}
	return append(all, corev1.Volume{Name: checkedVolume, VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: ptr.To(resource.MustParse("1Mi"))},
	}})
}

// secretVolume holds some keys of a Secret, or all.
func secretVolume(name, secret string, keys ...string) corev1.Volume {
	projection := &corev1.SecretProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: secret},
		Optional:             ptr.To(true),
	}
	for _, key := range keys {
		projection.Items = append(projection.Items, corev1.KeyToPath{Key: key, Path: key})
	}
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: ptr.To(int32(0o444)), // its owner is root, which the agent is not
		Sources:     []corev1.VolumeProjection{{Secret: projection}},
	}}}
}

// agentMounts are the volumes of the agent, nil for none.
func agentMounts(mc *cachev1alpha1.Memcached) []corev1.VolumeMount {
	if !hasCredentials(mc) {
		return nil
	}
	var mounts []corev1.VolumeMount
	if mc.Spec.TLS != nil {
		mounts = append(mounts, corev1.VolumeMount{Name: tlsSecretVolume, MountPath: tlsSourcePath, ReadOnly: true})
	}
	if mc.Spec.Auth != nil {
		mounts = append(mounts, corev1.VolumeMount{Name: usersSecretVolume, MountPath: usersSourcePath, ReadOnly: true})
	}
	return append(mounts, corev1.VolumeMount{Name: checkedVolume, MountPath: checkedPath})
}

// memcachedMounts are the volumes of memcached, nil for none.
func memcachedMounts(mc *cachev1alpha1.Memcached) []corev1.VolumeMount {
	if !hasCredentials(mc) {
		return nil
	}
	return []corev1.VolumeMount{{Name: checkedVolume, MountPath: checkedPath, ReadOnly: true}}
}

// agentArgs are the arguments of the agent.
func agentArgs(mc *cachev1alpha1.Memcached) []string {
	args := []string{fmt.Sprintf("--memcached=127.0.0.1:%d", memcached.Port), fmt.Sprintf("--listen=:%d", memcached.MetricsPort)}
	if mc.Spec.TLS != nil {
		args = append(args, "--tls-secret="+tlsSourcePath, fmt.Sprintf("--tls=127.0.0.1:%d", memcached.TLSPort))
	}
	if requiresClientCertificates(mc) {
		args = append(args, "--client-ca")
	}
	if mc.Spec.Auth != nil {
		args = append(args, "--users-secret="+usersSourcePath)
	}
	if hasCredentials(mc) {
		args = append(args, "--credentials="+checkedPath)
	}
	return args
}

// agentStartupProbe keeps memcached from starting until the agent has valid credentials, however long that takes. An agent killed
// for waiting would be restarted only after minutes.
func agentStartupProbe(mc *cachev1alpha1.Memcached) *corev1.Probe {
	if !hasCredentials(mc) {
		return nil
	}
	const always = 1<<31 - 1
	return httpProbe("/startupz", 1, always)
}

// shareProcesses lets the agent tell memcached to read its credentials again: it sends a signal.
func shareProcesses(mc *cachev1alpha1.Memcached) *bool {
	if !hasCredentials(mc) {
		return nil
	}
	return ptr.To(true)
}

// credentialArgs returns the arguments for TLS listeners and users. The agent can always reach memcached without TLS on the
// loopback address.
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

// tlsOptions returns the values of memcached's -o for TLS, empty without it. ssl_verify_mode 2 refuses clients without a
// certificate; 1 does not.
func tlsOptions(mc *cachev1alpha1.Memcached) string {
	if mc.Spec.TLS == nil {
		return ""
	}
	version := 2
	if mc.Spec.TLS.MinVersion == cachev1alpha1.TLSVersion13 {
		version = 3
	}
	options := fmt.Sprintf(",ssl_chain_cert=%s/tls.crt,ssl_key=%[1]s/tls.key,ssl_min_version=%d", currentPath, version)
	if requiresClientCertificates(mc) {
		options += fmt.Sprintf(",ssl_ca_cert=%s/ca.crt,ssl_verify_mode=2", currentPath)
	}
	return options
}
