// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = DescribeTable("A cache whose nodes cannot fill themselves is refused with the field and the fix",
	func(ctx SpecContext, spec string, cause ...string) {
		_, err := dryRunSpec(ctx, `{size: 1, `+spec+`}`)
		expectRefusal(err, strings.Join(cause, ""))
	},
	entryOf,
	Entry(nil, `workload: StatefulSet, config: {dump: true}, fillFrom: {}`, `spec.fillFrom.name: Required value`),
	Entry(nil, `workload: StatefulSet, config: {dump: true}, fillFrom: {name: Twin}`, `spec.fillFrom.name must be the name of a Memcached of the namespace`),
	Entry(nil, `workload: StatefulSet, config: {dump: true}, fillFrom: {name: memcached-sample}`, `spec.fillFrom.name must not be metadata.name`),
	Entry(nil, `config: {dump: true}, fillFrom: {name: twin}`, `spec.fillFrom must not be set with spec.workload Deployment`),
	Entry(nil, `workload: StatefulSet, fillFrom: {name: twin}`, `spec.fillFrom must not be set without spec.config.dump`),
	Entry(nil, `workload: StatefulSet, config: {dump: true, memory: 128Mi}, storage: {type: MemoryFile}, fillFrom: {name: twin}`,
		`spec.fillFrom must not be set with spec.storage.type MemoryFile`),
	Entry(nil, `workload: StatefulSet, config: {dump: true}, auth: {secretName: users}, fillFrom: {name: twin}`,
		`spec.fillFrom must not be set with spec.auth`),
	Entry(nil, `workload: StatefulSet, config: {dump: true}, tls: {secretName: tls}, fillFrom: {name: twin}`,
		`spec.fillFrom must not be set with spec.auth, nor with spec.tls without plaintext`),
)

var _ = It("A cache can fill its nodes from another one", func(ctx SpecContext) {
	for _, spec := range []string{
		`{size: 1, workload: StatefulSet, config: {dump: true}, fillFrom: {name: twin}}`,
		`{size: 1, workload: StatefulSet, config: {dump: true}, tls: {secretName: tls, plaintext: Enabled}, fillFrom: {name: twin}}`,
		`{size: 1, workload: StatefulSet, config: {dump: true}, storage: {type: Memory}, fillFrom: {name: twin}}`,
		`{size: 1, fillFrom: null}`,
	} {
		_, err := dryRunSpec(ctx, spec)
		Expect(err).NotTo(HaveOccurred(), spec)
	}
})
