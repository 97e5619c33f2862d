// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
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
		args = append(args, "-Y", render.CurrentPath+"/users")
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
	options := fmt.Sprintf(",ssl_chain_cert=%s/tls.crt,ssl_key=%[1]s/tls.key,ssl_min_version=%d", render.CurrentPath, version)
	if render.RequiresClientCertificates(mc.Spec.TLS) {
		options += fmt.Sprintf(",ssl_ca_cert=%s/ca.crt,ssl_verify_mode=2", render.CurrentPath)
	}
	return options
}
