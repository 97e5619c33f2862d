// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/internal/memcached"
)

// serversKey is the ConfigMap's key for the addresses of all nodes.
const serversKey = "servers"

// ConfigMap returns the ConfigMap that lists the servers. Applications read it as environment variables or files. It exists even
// with size 0, because pods that refer to a missing ConfigMap do not start.
//
// If TLS and plaintext are enabled, the addresses in "servers" have the plaintext port, and those in "tlsServers" have the TLS
// port. If plaintext is disabled, both have the TLS port.
func ConfigMap(v memcached.View) *corev1.ConfigMap {
	mc := v.Memcached
	data := map[string]string{
		"host":     memcached.Host(mc),
		"port":     strconv.Itoa(v.ServerPort()),
		serversKey: strings.Join(v.Servers(), ","),
	}
	if servers := v.TLSServers(); servers != nil {
		data["tlsPort"], data["tlsServers"] = strconv.Itoa(memcached.TLSPort), strings.Join(servers, ",")
	}
	return role(mc).ConfigMap(memcached.ServersSuffix, data)
}
