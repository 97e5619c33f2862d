// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

const (
	tlsSecretRule   = "spec.tls.secretName must be the name of a Secret: lowercase letters, digits, '-' and '.'"
	usersSecretRule = "spec.auth.secretName must be the name of a Secret: lowercase letters, digits, '-' and '.'"
)

var _ = DescribeTable("TLS and users that cannot work are refused with the field and the fix",
	func(ctx SpecContext, spec string, cause ...string) {
		_, err := dryRunSpec(ctx, spec)
		expectRefusal(err, strings.Join(cause, ""))
	},
	entryOf,
	Entry(nil, `{size: 1, tls: {secretName: a}}`, `spec.tls: Invalid value: `, `spec.tls must not be set with spec.workload Deployment, `,
		`whose pods are memcached alone and have no agent to load the certificate: set spec.workload to StatefulSet`),
	Entry(nil, `{size: 1, auth: {secretName: a}}`, `spec.auth: Invalid value: `, `spec.auth must not be set with spec.workload Deployment, `,
		`whose pods are memcached alone and have no agent to load the users: set spec.workload to StatefulSet`),
	Entry(nil, `{size: 1, workload: StatefulSet, tls: {}}`, `spec.tls.secretName: Required value`),
	Entry(nil, `{size: 1, workload: StatefulSet, tls: {secretName: ""}}`, `spec.tls.secretName: Invalid value: "": `, tlsSecretRule),
	Entry(nil, `{size: 1, workload: StatefulSet, tls: {secretName: Secret}}`, `spec.tls.secretName: Invalid value: "Secret": `, tlsSecretRule),
	Entry(nil, `{size: 1, workload: StatefulSet, tls: {secretName: a, clientAuth: Optional}}`, `spec.tls.clientAuth: Unsupported value: "Optional": `,
		`supported values: "None", "Require"`),
	Entry(nil, `{size: 1, workload: StatefulSet, tls: {secretName: a, minVersion: "1.1"}}`, `spec.tls.minVersion: Invalid value: "1.1": `,
		`spec.tls.minVersion must be "1.2" or "1.3", in quotation marks`),
	Entry(nil, `{size: 1, workload: StatefulSet, tls: {secretName: a, minVersion: 1.3}}`,
		`spec.tls.minVersion: Invalid value: "number": spec.tls.minVersion in body must be of type string: "number"`),
	Entry(nil, `{size: 1, workload: StatefulSet, tls: {secretName: a, plaintext: true}}`, `spec.tls.plaintext in body must be of type string: "boolean"`),
	Entry(nil, `{size: 1, workload: StatefulSet, auth: {}}`, `spec.auth.secretName: Required value`),
	Entry(nil, `{size: 1, workload: StatefulSet, auth: {secretName: a/b}}`, `spec.auth.secretName: Invalid value: "a/b": `, usersSecretRule),
	Entry(nil, `{size: 1, workload: StatefulSet, tls: {secretName: a}, auth: {secretName: a}}`, `spec.auth.secretName: Invalid value: `,
		`spec.auth.secretName must not be the Secret of spec.tls: each of its keys would be a user`),
	Entry(nil, `{size: 1, workload: StatefulSet, tls: {secretName: a}, resources: {limits: {memory: 211Mi}}}`,
		`spec.resources.limits.memory is 211Mi, but memcached with memory 64Mi and 1024 TLS connections needs at least 212Mi: raise it`),
)
