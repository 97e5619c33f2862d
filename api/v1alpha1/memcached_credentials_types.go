// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// MemcachedTLS configures TLS. The operator reads no Secret: the kubelet mounts it into the agent of each pod, which checks it and
// gives it to memcached.
type MemcachedTLS struct {
	// secretName is the name of a Secret of the type kubernetes.io/tls, in at most 253 characters. It holds the certificate chain
	// (tls.crt), its key (tls.key) and, with clientAuth Require, the CAs of clients (ca.crt). New content is in service without a
	// restart, after the agent has checked it. Another name replaces the pods.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="spec.tls.secretName must be the name of a Secret: lowercase letters, digits, '-' and '.'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret with the certificate",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:tls","urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`

	// clientAuth is None or Require. The default is None. With Require, memcached accepts only clients with a certificate that a CA
	// in ca.crt has signed. A change replaces the pods.
	// +optional
	// +kubebuilder:default=None
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Certificates of clients",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:tls","urn:alm:descriptor:com.tectonic.ui:select:None","urn:alm:descriptor:com.tectonic.ui:select:Require"}
	ClientAuth ClientAuth `json:"clientAuth,omitempty"`

	// minVersion is the lowest version of TLS that a client may use: "1.2" or "1.3", 3 characters in quotation marks. The default is
	// 1.2. A change replaces the pods, or with workload StatefulSet restarts memcached in them.
	// +optional
	// +kubebuilder:default="1.2"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Lowest version",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:tls","urn:alm:descriptor:com.tectonic.ui:select:1.2","urn:alm:descriptor:com.tectonic.ui:select:1.3","urn:alm:descriptor:com.tectonic.ui:advanced"}
	MinVersion TLSVersion `json:"minVersion,omitempty"`

	// plaintext is whether clients may also connect without TLS, to port 11211: Disabled or Enabled. The default is Disabled.
	// Enable it while clients move to TLS; status.servers then names port 11211. A change replaces the pods.
	// +optional
	// +kubebuilder:default=Disabled
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Connections without TLS",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:tls","urn:alm:descriptor:com.tectonic.ui:select:Disabled","urn:alm:descriptor:com.tectonic.ui:select:Enabled"}
	Plaintext PlaintextMode `json:"plaintext,omitempty"`
}

// ClientAuth is whether clients need a certificate.
// +kubebuilder:validation:Enum=None;Require
type ClientAuth string

// Values of ClientAuth.
const (
	// ClientAuthNone accepts clients with any certificate or none.
	ClientAuthNone ClientAuth = "None"
	// ClientAuthRequire accepts only clients whose certificate a CA of the Secret has signed.
	ClientAuthRequire ClientAuth = "Require"
)

// TLSVersion is a version of TLS. A rule checks it instead of an enumeration, whose message for the number 1.3 would say that 1.3 is
// supported.
// +kubebuilder:validation:MaxLength=3
// +kubebuilder:validation:XValidation:rule="self in ['1.2', '1.3']",message="spec.tls.minVersion must be \"1.2\" or \"1.3\", in quotation marks"
type TLSVersion string

// Versions of TLS.
const (
	// TLSVersion12 is TLS 1.2.
	TLSVersion12 TLSVersion = "1.2"
	// TLSVersion13 is TLS 1.3.
	TLSVersion13 TLSVersion = "1.3"
)

// PlaintextMode is whether clients may connect without TLS.
// +kubebuilder:validation:Enum=Disabled;Enabled
type PlaintextMode string

// Values of PlaintextMode.
const (
	// PlaintextDisabled keeps port 11211 within the pod.
	PlaintextDisabled PlaintextMode = "Disabled"
	// PlaintextEnabled opens port 11211 to clients as well.
	PlaintextEnabled PlaintextMode = "Enabled"
)

// MemcachedAuth defines the users of the cache.
type MemcachedAuth struct {
	// secretName is the name of a Secret, in at most 253 characters, with 1 to 8 users. Each key is the name of a user, and its
	// value the password. The keys username and password alone, as in the type kubernetes.io/basic-auth, are one user. A name and
	// its password have at most 253 bytes together, and no line break. New content is used without a restart, after the agent has
	// checked it. Connections of removed users stay until memcached restarts. Another name of the Secret replaces the pods.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="spec.auth.secretName must be the name of a Secret: lowercase letters, digits, '-' and '.'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret with the users",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:auth","urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`
}
