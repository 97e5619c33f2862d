// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// A Memcached without spec.workload has a Deployment, because the API server sets the default.
var _ = DescribeTable("spec.workload is immutable, whether it is set or not",
	func(ctx SpecContext, stored cachev1alpha1.WorkloadKind, spec string, accepted bool) {
		mc := create(ctx, "workload", cachev1alpha1.MemcachedSpec{Size: 1, Workload: stored})
		_, err := send(ctx, raw.Put().Name(mc.Name), manifest(mc.Name, mc.ResourceVersion, spec))
		if accepted {
			Expect(err).NotTo(HaveOccurred())
			return
		}
		expectRefusal(err, "spec.workload is immutable, because a change would empty the cache: "+
			"create a second Memcached, lead the clients to it, then delete this one")
	},
	Entry("unset stays unset", cachev1alpha1.WorkloadKind(""), `{"size": 2}`, true),
	Entry("unset, then what the default is", cachev1alpha1.WorkloadKind(""), `{"size": 2, "workload": "Deployment"}`, true),
	Entry("unset, then null", cachev1alpha1.WorkloadKind(""), `{"size": 2, "workload": null}`, true),
	Entry("a Deployment, then unset", cachev1alpha1.WorkloadDeployment, `{"size": 2}`, true),
	Entry("a StatefulSet stays one", cachev1alpha1.WorkloadStatefulSet, `{"size": 2, "workload": "StatefulSet"}`, true),
	Entry("unset, then a StatefulSet", cachev1alpha1.WorkloadKind(""), `{"size": 1, "workload": "StatefulSet"}`, false),
	Entry("a Deployment, then a StatefulSet", cachev1alpha1.WorkloadDeployment, `{"size": 1, "workload": "StatefulSet"}`, false),
	Entry("a StatefulSet, then a Deployment", cachev1alpha1.WorkloadStatefulSet, `{"size": 1, "workload": "Deployment"}`, false),
	Entry("a StatefulSet, then unset", cachev1alpha1.WorkloadStatefulSet, `{"size": 1}`, false),
	Entry("a StatefulSet, then null", cachev1alpha1.WorkloadStatefulSet, `{"size": 1, "workload": null}`, false),
)
