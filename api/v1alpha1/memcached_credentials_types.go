// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// MemcachedTLS configures TLS. The operator never reads the Secret: the kubelet mounts the Secret into the agent of each pod, and
// the agent checks the content and gives it to memcached.
type MemcachedTLS struct {
	// secretName is the name of a Secret of the type kubernetes.io/tls, in at most 253 characters. The Secret holds the certificate
	// chain (tls.crt), its private key (tls.key) and, with clientAuth Require, the CAs of client certificates (ca.crt). memcached
	// uses new content without a restart, after the agent has checked it. A change of secretName replaces the pods.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="spec.tls.secretName must be the name of a Secret: lowercase letters, digits, '-' and '.'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret with the certificate",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:tls","urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`

	// clientAuth is None or Require. The default is None. With Require, memcached accepts only clients whose certificate a CA in
	// ca.crt has signed. A change replaces the pods.
	// +optional
	// +kubebuilder:default=None
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Certificates of clients",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:tls","urn:alm:descriptor:com.tectonic.ui:select:None","urn:alm:descriptor:com.tectonic.ui:select:Require"}
	ClientAuth ClientAuth `json:"clientAuth,omitempty"`

	// minVersion is the lowest version of TLS that clients may use: "1.2" or "1.3", which are 3 characters in quotation marks. The
	// default is 1.2. A change replaces proxies, or without proxies restarts memcached in its pods.
	// +optional
	// +kubebuilder:default="1.2"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Lowest version",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:tls","urn:alm:descriptor:com.tectonic.ui:select:1.2","urn:alm:descriptor:com.tectonic.ui:select:1.3","urn:alm:descriptor:com.tectonic.ui:advanced"}
	MinVersion TLSVersion `json:"minVersion,omitempty"`

	// plaintext is whether clients may also connect without TLS, to port 11211: Disabled or Enabled. The default is Disabled. Use
	// Enabled while clients move to TLS; meanwhile, status.servers lists port 11211. A change replaces the pods.
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

// TLSVersion is a version of TLS. A rule checks it, not an enumeration. Without quotation marks, 1.3 in YAML is a number and is rejected.
// With an enumeration, the error would also list 1.3 as a supported value.
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
	// PlaintextDisabled makes port 11211 unreachable from outside the pod.
	PlaintextDisabled PlaintextMode = "Disabled"
	// PlaintextEnabled opens port 11211 to clients as well.
	PlaintextEnabled PlaintextMode = "Enabled"
)

// MemcachedAuth defines the users of the cache.
type MemcachedAuth struct {
	// secretName is the name of a Secret, in at most 253 characters, with 1 to 8 users. Each key is the name of a user, and its
	// value is the password. If the Secret has only the keys username and password, as in the type kubernetes.io/basic-auth, they
	// define one user. A name and its password have at most 253 bytes together, and no line break. memcached uses new content
	// without a restart, after the agent has checked it, but connections of removed users stay until memcached restarts. A change
	// of secretName replaces the pods.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="spec.auth.secretName must be the name of a Secret: lowercase letters, digits, '-' and '.'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret with the users",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:auth","urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`
}
