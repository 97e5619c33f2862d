// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

const (
	memoryRule      = "spec.config.memory must be a whole number of MiB from 64Mi to 1Ti, such as 64Mi or 2Gi"
	maxItemSizeRule = "spec.config.maxItemSize must be a multiple of 512Ki from 512Ki to 1Gi, such as 512Ki or 2Mi"
	idleTimeoutRule = "spec.config.idleTimeout must be whole seconds, minutes and hours from 1s to 720h, such as 30s, 10m or 1h30m"
	secretNameRule  = "spec.imagePullSecrets[].name must be the name of a Secret: lowercase letters, digits, '-' and '.'"
	neverBothZero   = "spec.updateStrategy: Invalid value: spec.updateStrategy.maxSurge and maxUnavailable must not both be 0: " +
		"no node could ever be replaced, raise one"
	priorityClassRule = "spec.scheduling.priorityClassName must be the name of a PriorityClass: lowercase letters, digits, " +
		"'-' and '.', starting and ending with a letter or a digit"
	peerRule = "spec.networkPolicy: from[] and metricsFrom[] must have a podSelector, a namespaceSelector or both, or else an ipBlock alone"
)

var _ = DescribeTable("A spec that cannot work is refused with the field and the fix",
	func(ctx SpecContext, spec string, cause ...string) {
		_, err := dryRunSpec(ctx, spec)
		expectRefusal(err, strings.Join(cause, ""))
	},
	entryOf,
	Entry(nil, `{}`, `spec.size: Required value`),
	Entry(nil, `{size: null}`, `spec.size: Required value`),
	Entry(nil, `{size: -1}`, `spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0`),
	Entry(nil, `{size: 1001}`, `spec.size: Invalid value: 1001: spec.size in body should be less than or equal to 1000`),
	Entry(nil, `{size: 3000000000}`, `spec.size in body should be less than or equal to 1000`),
	Entry(nil, `{size: 1.5}`, `spec.size in body must be of type int32`),
	Entry(nil, `{size: "3"}`, `spec.size in body must be of type integer`),

	Entry(nil, `{size: 1, imagePullPolicy: Sometimes}`,
		`spec.imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"`),
	Entry(nil, `{size: 1, imagePullSecrets: [{}]}`, `spec.imagePullSecrets[0].name: Required value`),
	Entry(nil, `{size: 1, imagePullSecrets: [{name: ""}]}`, `spec.imagePullSecrets[0].name: Invalid value: "": `, secretNameRule),
	Entry(nil, `{size: 1, imagePullSecrets: [{name: Secret}]}`,
		`spec.imagePullSecrets[0].name: Invalid value: "Secret": `, secretNameRule),
	Entry(nil, `{size: 1, imagePullSecrets: [{name: a}, {name: a}]}`, `spec.imagePullSecrets[1]: Duplicate value: {"name":"a"}`),

	Entry(nil, `{size: 1, config: {memory: 63Mi}}`, `spec.config.memory: Invalid value: "63Mi": `, memoryRule),
	Entry(nil, `{size: 1, config: {memory: 64.5Mi}}`, `spec.config.memory: Invalid value: "64.5Mi": `, memoryRule),
	Entry(nil, `{size: 1, config: {memory: 1048577Mi}}`, `spec.config.memory: Invalid value: "1048577Mi": `, memoryRule),
	Entry(nil, `{size: 1, config: {memory: 67108865}}`, `spec.config.memory: Invalid value: 67108865: `, memoryRule),
	Entry(nil, `{size: 1, config: {memory: 0}}`, `spec.config.memory: Invalid value: 0: `, memoryRule),
	Entry(nil, `{size: 1, config: {memory: -64Mi}}`, `spec.config.memory: Invalid value: "-64Mi": `, memoryRule),
	Entry(nil, `{size: 1, config: {memory: abc}}`, `spec.config.memory: Invalid value: "abc": `, memoryRule),
	Entry(nil, `{size: 1, config: {memory: ""}}`, `spec.config.memory: Invalid value: "": `, memoryRule),
	Entry(nil, `{size: 1, config: {memory: 64 Mi}}`, `spec.config.memory: Invalid value: "64 Mi": `, memoryRule),
	Entry(nil, `{size: 1, config: {memory: 1e1.5}}`, `spec.config.memory: Invalid value: "1e1.5": `, memoryRule),
	Entry(nil, `{size: 1, config: {memory: 1e30}}`, `spec.config.memory in body must be of type integer,string`),

	Entry(nil, `{size: 1, config: {maxItemSize: 33Mi}}`,
		`spec.config.maxItemSize: Invalid value: spec.config.maxItemSize is 33Mi, more than half of spec.config.memory (64Mi), `,
		`which memcached refuses: lower maxItemSize or raise memory`),
	Entry(nil, `{size: 1, config: {maxItemSize: 66Mi, memory: 131Mi}}`,
		`spec.config.maxItemSize is 66Mi, more than half of spec.config.memory (131Mi)`),
	Entry(nil, `{size: 1, config: {maxItemSize: 700Ki}}`, `spec.config.maxItemSize: Invalid value: "700Ki": `, maxItemSizeRule),
	Entry(nil, `{size: 1, config: {maxItemSize: 256Ki}}`, `spec.config.maxItemSize: Invalid value: "256Ki": `, maxItemSizeRule),
	Entry(nil, `{size: 1, config: {maxItemSize: 0}}`, `spec.config.maxItemSize: Invalid value: 0: `, maxItemSizeRule),
	Entry(nil, `{size: 1, config: {maxItemSize: -1Mi}}`, `spec.config.maxItemSize: Invalid value: "-1Mi": `, maxItemSizeRule),
	Entry(nil, `{size: 1, config: {maxItemSize: ""}}`, `spec.config.maxItemSize: Invalid value: "": `, maxItemSizeRule),
	Entry(nil, `{size: 1, config: {maxItemSize: 1025Mi, memory: 4Gi}}`,
		`spec.config.maxItemSize: Invalid value: "1025Mi": `, maxItemSizeRule),

	Entry(nil, `{size: 1, config: {maxConnections: 0}}`,
		`spec.config.maxConnections: Invalid value: 0: spec.config.maxConnections in body should be greater than or equal to 1`),
	Entry(nil, `{size: 1, config: {maxConnections: 65537}}`,
		`spec.config.maxConnections: Invalid value: 65537: spec.config.maxConnections in body should be less than or equal to 65536`),
	Entry(nil, `{size: 1, config: {threads: 0}}`,
		`spec.config.threads: Invalid value: 0: spec.config.threads in body should be greater than or equal to 1`),
	Entry(nil, `{size: 1, config: {threads: 65}}`,
		`spec.config.threads: Invalid value: 65: spec.config.threads in body should be less than or equal to 64`),
	Entry(nil, `{size: 1, config: {verbosity: 2}}`,
		`spec.config.verbosity: Invalid value: 2: spec.config.verbosity in body should be less than or equal to 1`),
	Entry(nil, `{size: 1, config: {verbosity: -1}}`,
		`spec.config.verbosity: Invalid value: -1: spec.config.verbosity in body should be greater than or equal to 0`),

	Entry(nil, `{size: 1, config: {idleTimeout: 0s}}`, `spec.config.idleTimeout: Invalid value: "0s": `, idleTimeoutRule),
	Entry(nil, `{size: 1, config: {idleTimeout: -1s}}`, `spec.config.idleTimeout: Invalid value: "-1s": `, idleTimeoutRule),
	Entry(nil, `{size: 1, config: {idleTimeout: 1.5s}}`, `spec.config.idleTimeout: Invalid value: "1.5s": `, idleTimeoutRule),
	Entry(nil, `{size: 1, config: {idleTimeout: 1d}}`, `spec.config.idleTimeout: Invalid value: "1d": `, idleTimeoutRule),
	Entry(nil, `{size: 1, config: {idleTimeout: ""}}`, `spec.config.idleTimeout: Invalid value: "": `, idleTimeoutRule),
	Entry(nil, `{size: 1, config: {idleTimeout: 721h}}`, `spec.config.idleTimeout: Invalid value: "721h": `, idleTimeoutRule),
	Entry(nil, `{size: 1, config: {idleTimeout: 720h1s}}`, `spec.config.idleTimeout: Invalid value: "720h1s": `, idleTimeoutRule),
	Entry(nil, `{size: 1, config: {idleTimeout: 1000ms}}`, `spec.config.idleTimeout: Invalid value: "1000ms": `, idleTimeoutRule),
	Entry(nil, `{size: 1, config: {idleTimeout: 60}}`, `spec.config.idleTimeout in body must be of type string: "integer"`),

	Entry(nil, `{size: 1, scheduling: {priorityClassName: ""}}`,
		`spec.scheduling.priorityClassName: Invalid value: "": `, priorityClassRule),
	Entry(nil, `{size: 1, scheduling: {priorityClassName: High}}`,
		`spec.scheduling.priorityClassName: Invalid value: "High": `, priorityClassRule),
	Entry(nil, `{size: 1, service: {ipFamilyPolicy: DualStack}}`, `spec.service.ipFamilyPolicy: Unsupported value: "DualStack": `,
		`supported values: "SingleStack", "PreferDualStack", "RequireDualStack"`),
	Entry(nil, `{size: 1, scheduling: {topologySpreadConstraints: [
		{topologyKey: a, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}, {topologyKey: a, maxSkew: 2, whenUnsatisfiable: DoNotSchedule}]}}`,
		`spec.scheduling.topologySpreadConstraints[1]: Duplicate value: {"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"}`),
	Entry(nil, `{size: 1, networkPolicy: {from: [{}]}}`, `spec.networkPolicy.from[0]: Invalid value: `, peerRule),
	Entry(nil, `{size: 1, networkPolicy: {from: [{ipBlock: {cidr: 10.0.0.0/8}, podSelector: {}}]}}`,
		`spec.networkPolicy.from[0]: Invalid value: `, peerRule),
	Entry(nil, `{size: 1, networkPolicy: {from: [{ipBlock: {cidr: 10.0.0.0}}]}}`,
		`spec.networkPolicy.from[0].ipBlock.cidr: Invalid value: "10.0.0.0": `,
		`spec.networkPolicy: ipBlock.cidr must be a range of IP addresses, such as 10.0.0.0/8 or 2001:db8::/32`),
	Entry(nil, `{size: 1, networkPolicy: {from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0]}}]}}`,
		`spec.networkPolicy.from[0].ipBlock.except[0]: Invalid value: "10.0.0": `,
		`spec.networkPolicy: ipBlock.except[] must be a range of IP addresses, such as 10.1.0.0/16`),
	Entry(nil, `{size: 1, networkPolicy: {metricsFrom: [{podSelector: {}}]}}`, `spec.networkPolicy.metricsFrom: Invalid value: `,
		`spec.networkPolicy.metricsFrom must not be set with spec.workload Deployment, whose pods are memcached alone and have no metrics: `,
		`set spec.workload to StatefulSet`),
	Entry(nil, `{size: 1, networkPolicy: {from: []}}`, `spec.networkPolicy.from: Invalid value: 0: spec.networkPolicy.from in body should have at least 1 items`),
	Entry(nil, `{size: 1, updateStrategy: {minReadySeconds: -1}}`,
		`spec.updateStrategy.minReadySeconds in body should be greater than or equal to 0`),
	Entry(nil, `{size: 1, updateStrategy: {minReadySeconds: 3601}}`,
		`spec.updateStrategy.minReadySeconds in body should be less than or equal to 3600`),
	Entry(nil, `{size: 1, gracefulShutdown: {preStopDelaySeconds: -1}}`,
		`spec.gracefulShutdown.preStopDelaySeconds in body should be greater than or equal to 0`),
	Entry(nil, `{size: 1, gracefulShutdown: {preStopDelaySeconds: 301}}`,
		`spec.gracefulShutdown.preStopDelaySeconds in body should be less than or equal to 300`),

	Entry(nil, `{size: 1, paused: "yes"}`, `spec.paused in body must be of type boolean: "string"`),
	Entry(nil, `{size: 1, restartedAt: now}`, `spec.restartedAt: Invalid value: "now": spec.restartedAt in body must be of type date-time: "now"`),
	Entry(nil, `{size: 1, restartedAt: "2026-01-01"}`, `spec.restartedAt in body must be of type date-time: "2026-01-01"`),
	Entry(nil, `{size: 1, restartedAt: "2026-01-01t00:00:00Z"}`,
		`spec.restartedAt must be a time that Go can read, such as 2026-01-01T00:00:00Z`),
	Entry(nil, `{size: 1, restartedAt: []}`, `spec.restartedAt`),
	Entry(nil, `{size: 1, restartedAt: "9999-12-31T23:59:59-14:00"}`,
		`spec.restartedAt must be a time that Go can read, such as 2026-01-01T00:00:00Z, and at the latest 9999-12-31T23:59:59Z`),
	Entry(nil, `{size: 1, restartedAt: "0001-01-01T00:00:00Z"}`, `spec.restartedAt must be a time that Go can read`),
	Entry(nil, `{size: 1, restartedAt: "0001-01-01T00:00:00.9Z"}`, `spec.restartedAt must be a time that Go can read`),

	Entry(nil, `{size: 1, podDisruptionBudget: {minAvailable: 1, maxUnavailable: 1}}`,
		`spec.podDisruptionBudget: Invalid value: spec.podDisruptionBudget must have either maxUnavailable or minAvailable, `,
		`not both: remove one`),
	Entry(nil, `{size: 1, workload: DaemonSet}`, `spec.workload: Unsupported value: "DaemonSet": supported values: "Deployment", "StatefulSet"`),
	Entry(nil, `{size: 1, workload: StatefulSet, updateStrategy: {maxSurge: 1}}`,
		`spec.updateStrategy.maxSurge must not be set with spec.workload StatefulSet, whose nodes keep their names: `,
		`the old one must leave before the new one can start; use maxUnavailable`),
	Entry(nil, `{size: 1, workload: StatefulSet, updateStrategy: {maxUnavailable: 0%}}`,
		`spec.updateStrategy.maxUnavailable must not be 0 with spec.workload StatefulSet`),
	Entry(nil, `{size: 1, workload: StatefulSet, updateStrategy: {podUpdatePolicy: InPlaceOnly}}`,
		`spec.updateStrategy.podUpdatePolicy: Unsupported value: "InPlaceOnly": supported values: "ReCreate", "InPlaceIfPossible"`),
	Entry(nil, `{size: 1, updateStrategy: {podUpdatePolicy: InPlaceIfPossible}}`,
		`spec.updateStrategy.podUpdatePolicy: Invalid value: spec.updateStrategy.podUpdatePolicy must not be InPlaceIfPossible with `,
		`spec.workload Deployment, which replaces its pods for every change: set spec.workload to StatefulSet`),
	Entry(nil, `{size: 1, storage: {type: File}}`, `spec.storage.type: Unsupported value: "File": supported values: "Memory", "MemoryFile"`),
	Entry(nil, `{size: 1, storage: {type: MemoryFile}, config: {memory: 128Mi}}`,
		`spec.storage.type: Invalid value: spec.storage.type must not be MemoryFile with spec.workload Deployment, whose nodes never `,
		`restart in their pods: set spec.workload to StatefulSet, or spec.storage.type to Memory`),
	Entry(nil, `{size: 1, workload: StatefulSet, storage: {type: MemoryFile}}`,
		`spec.config.memory: Invalid value: spec.config.memory must be at least 128Mi with spec.storage.type MemoryFile`),
	Entry(nil, `{size: 1, workload: StatefulSet, storage: {type: MemoryFile}, config: {memory: 127Mi}}`,
		`spec.config.memory: Invalid value: spec.config.memory must be at least 128Mi with spec.storage.type MemoryFile, `,
		`which takes a page of 1 MiB for each of 39 item sizes at the start`),
	Entry(nil, `{size: 1, updateStrategy: {maxSurge: 0, maxUnavailable: 0}}`, neverBothZero),
	Entry(nil, `{size: 1, updateStrategy: {maxSurge: 0, maxUnavailable: 0%}}`, neverBothZero),
	Entry(nil, `{size: 1, updateStrategy: {maxSurge: 0%, maxUnavailable: 0}}`, neverBothZero),
	Entry(nil, `{size: 1, updateStrategy: {maxSurge: 0%, maxUnavailable: 0%}}`, neverBothZero),
	numbersAndPercentages(),
)

// entryOf names a row after its input, in at most 120 characters.
func entryOf(input string, _ ...string) string { return fmt.Sprintf("%.120s", input) }

// numbersAndPercentages returns rows with invalid values for the four fields that are a number of nodes or a percentage of size.
func numbersAndPercentages() []TableEntry {
	var entries []TableEntry
	for _, field := range [][2]string{
		{"podDisruptionBudget", "maxUnavailable"},
		{"podDisruptionBudget", "minAvailable"},
		{"updateStrategy", "maxUnavailable"},
		{"updateStrategy", "maxSurge"},
	} {
		path := "spec." + field[0] + "." + field[1]
		rule := path + " must be a number from 0 to 1000 or a percentage from 0% to 100%"
		for _, value := range []string{
			`-1`, `1001`, `2147483648`, `"101%"`, `"-1%"`, `"1.5%"`, `"abc"`, `""`, `"1"`, `"%"`, `"00%"`, `"1%%"`, `"50 %"`, `"５０%"`,
		} {
			entries = append(entries, Entry(nil, fmt.Sprintf(`{size: 1, %s: {%s: %s}}`, field[0], field[1], value),
				fmt.Sprintf("%s: Invalid value: %s: %s", path, value, rule)))
		}
		entries = append(entries, Entry(nil, fmt.Sprintf(`{size: 1, %s: {%s: 1.5}}`, field[0], field[1]),
			path+" in body must be of type integer,string"))
	}
	return entries
}

var _ = DescribeTable("Resources that cannot work are refused with the field and the fix",
	func(ctx SpecContext, spec string, cause ...string) {
		_, err := dryRunSpec(ctx, `{size: 1, `+spec+`}`)
		expectRefusal(err, strings.Join(cause, ""))
	},
	entryOf,
	Entry(nil, `resources: {limits: {memory: 164Mi}}`,
		`spec.resources.limits: Invalid value: spec.resources.limits.memory is 164Mi, but memcached with memory 64Mi and 1024 `,
		`connections needs at least 165Mi: raise it, or lower spec.config.memory, maxConnections or threads`),
	Entry(nil, `config: {memory: 1Gi, maxConnections: 1}, resources: {limits: {memory: 1187Mi}}`,
		`spec.resources.limits.memory is 1187Mi, but memcached with memory 1Gi and 1 connections needs at least 1188Mi: raise it`),
	Entry(nil, `config: {threads: 64}, resources: {limits: {memory: 590Mi, cpu: 1}}`,
		`spec.resources.limits.memory is 590Mi, but memcached with memory 64Mi and 1024 connections needs at least 591Mi: raise it`),
	Entry(nil, `resources: {limits: {memory: 143Mi, cpu: 1}}`,
		`spec.resources.limits.memory is 143Mi, but memcached with memory 64Mi and 1024 connections needs at least 144Mi: raise it`),
	Entry(nil, `resources: {limits: {memory: 1}}`, `spec.resources.limits.memory is 1, but memcached with memory 64Mi`),
	Entry(nil, `resources: {limits: {memory: 0}, requests: {memory: 0}}`, `spec.resources.limits.memory is 0, but memcached with`),
	Entry(nil, `resources: {requests: {memory: 164Mi}}`,
		`spec.resources.requests.memory is 164Mi and is also the limit as no limit is given, but memcached with memory 64Mi and `,
		`1024 connections needs at least 165Mi`),
	Entry(nil, `config: {maxConnections: 65536}, resources: {requests: {memory: 256Mi}}`,
		`spec.resources.requests: Invalid value: spec.resources.requests.memory is 256Mi and is also the limit as no limit is `,
		`given, but memcached with memory 64Mi and 65536 connections needs at least 1236Mi: raise it, or lower spec.config.memory, `,
		`maxConnections or threads`),
	Entry(nil, `resources: {limits: {cpu: 1}, requests: {memory: 100Mi}}`,
		`spec.resources.requests.memory is 100Mi and is also the limit as no limit is given`),
	Entry(nil, `resources: {limits: {cpu: 1}, requests: {cpu: 1001m}}`, `spec.resources.requests: Invalid value: `,
		`spec.resources.requests.cpu must not be larger than spec.resources.limits.cpu: lower the request or raise the limit`),
	Entry(nil, `resources: {limits: {memory: 1Gi}, requests: {memory: 1025Mi}}`, `spec.resources.requests: Invalid value: `,
		`spec.resources.requests.memory must not be larger than spec.resources.limits.memory: lower the request or raise the limit`),
	Entry(nil, `resources: {limits: {ephemeral-storage: 1Gi}, requests: {ephemeral-storage: 2Gi}}`,
		`spec.resources.requests: Invalid value: spec.resources.requests.ephemeral-storage must not be larger than `,
		`spec.resources.limits.ephemeral-storage: lower the request or raise the limit`),
	Entry(nil, `resources: {limits: {memory: 10E}}`, `spec.resources.limits: Invalid value: `,
		`spec.resources.limits must hold quantities from 0 to 1Pi, such as memory: 256Mi or cpu: 500m`),
	Entry(nil, `resources: {requests: {memory: 10E}}`, `spec.resources.requests must hold quantities from 0 to 1Pi`),
	Entry(nil, `resources: {limits: {cpu: 10E}}`, `spec.resources.limits must hold quantities from 0 to 1Pi`),
	Entry(nil, `resources: {limits: {ephemeral-storage: 1025Ti}}`, `spec.resources.limits must hold quantities from 0 to 1Pi`),
	Entry(nil, `resources: {limits: {nvidia.com/gpu: 1}}`, `spec.resources.limits: Invalid value: `,
		`spec.resources.limits may hold cpu, memory and ephemeral-storage only: remove the others`),
	Entry(nil, `resources: {requests: {hugepages-2Mi: 2Mi}}`, `spec.resources.requests: Invalid value: `,
		`spec.resources.requests may hold cpu, memory and ephemeral-storage only: remove the others`),
	Entry(nil, `resources: {limits: {"": 1}}`, `spec.resources.limits may hold cpu, memory and ephemeral-storage only`),
	Entry(nil, `resources: {limits: {cpu: -1}}`, `spec.resources.limits: Invalid value: `,
		`spec.resources.limits must hold quantities from 0 to 1Pi, such as memory: 256Mi or cpu: 500m`),
	Entry(nil, `resources: {requests: {ephemeral-storage: -1Gi}}`, `spec.resources.requests: Invalid value: `,
		`spec.resources.requests must hold quantities from 0 to 1Pi, such as memory: 256Mi or cpu: 500m`),
	Entry(nil, `resources: {limits: {memory: 1GB}}`,
		`spec.resources.limits must hold quantities from 0 to 1Pi, such as memory: 256Mi or cpu: 500m`),
	Entry(nil, `resources: {requests: {cpu: ""}}`, `spec.resources.requests.cpu: Invalid value: ""`),
	Entry(nil, `resources: {requests: {cpu: 1e1.5}}`, `spec.resources.requests must hold quantities from 0 to 1Pi`),
	// These messages cannot name the fix, because the API server checks types before it evaluates rules. The descriptions of the
	// fields name the fix.
	Entry(nil, `resources: {requests: {cpu: 1.5}}`, `spec.resources.requests.cpu in body must be of type integer,string: "number"`),
	Entry(nil, `resources: {limits: {cpu: 0.5}}`, `spec.resources.limits.cpu: Invalid value: "number": `,
		`spec.resources.limits.cpu in body must be of type integer,string: "number"`),
)

var _ = DescribeTable("More than anybody needs is refused with the field and the limit",
	func(ctx SpecContext, spec string, cause ...string) {
		_, err := dryRunSpec(ctx, `{size: 1, `+spec+`}`)
		expectRefusal(err, strings.Join(cause, ""))
	},
	entryOf,
	Entry(nil, `image: `+strings.Repeat("a/", 256)+`b`, `spec.image: Too long: may not be more than 512 bytes`),
	Entry(nil, `imagePullSecrets: [{name: `+strings.Repeat("a", 254)+`}]`,
		`spec.imagePullSecrets[0].name: Too long: may not be more than 253 bytes`),
	Entry(nil, `imagePullSecrets: `+many(17, "{name: a%d}"), `spec.imagePullSecrets: Too many: 17: must have at most 16 items`),
	Entry(nil, `config: {idleTimeout: 000000000000001s}`, `spec.config.idleTimeout: Invalid value: "000000000000001s": `, idleTimeoutRule),
	Entry(nil, `config: {idleTimeout: 0001h000001m000001s}`, `spec.config.idleTimeout: Too long: may not be more than 16 bytes`),
	Entry(nil, `scheduling: {priorityClassName: `+strings.Repeat("a", 254)+`}`,
		`spec.scheduling.priorityClassName: Too long: may not be more than 253 bytes`),
	Entry(nil, `config: {memory: "00000000000000000000000000000064Mi"}`, `spec.config.memory: Invalid value: "00000000000000000000000000000064Mi": `,
		`spec.config.memory must have at most 32 characters, such as 64Mi or 2Gi`),
	Entry(nil, `config: {maxItemSize: "0000000000000000000000000000001Mi0"}`, `spec.config.maxItemSize must have at most 32 characters`),
	Entry(nil, `resources: {limits: {cpu: "000000000000000000000000000000001"}}`, `spec.resources.limits: Invalid value: `,
		`spec.resources.limits must hold quantities of at most 32 characters, such as memory: 256Mi or cpu: 500m`),
	Entry(nil, `resources: {requests: {cpu: "000000000000000000000000000000001"}}`,
		`spec.resources.requests must hold quantities of at most 32 characters, such as memory: 256Mi or cpu: 500m`),
	Entry(nil, `tls: {secretName: `+strings.Repeat("a", 254)+`}`, `spec.tls.secretName: Too long: may not be more than 253 bytes`),
	Entry(nil, `auth: {secretName: `+strings.Repeat("a", 254)+`}`, `spec.auth.secretName: Too long: may not be more than 253 bytes`),
	Entry(nil, `networkPolicy: {from: [{ipBlock: {cidr: "2001:0db8:0000:0000:0000:0000:0000:00000/128"}}]}`,
		`spec.networkPolicy.from[0].ipBlock.cidr: Too long: may not be more than 43 bytes`),
	Entry(nil, `networkPolicy: {from: `+many(9, "{ipBlock: {cidr: 10.%d.0.0/16}}")+`}`,
		`spec.networkPolicy.from: Too many: 9: must have at most 8 items`),
	Entry(nil, `networkPolicy: {from: [{ipBlock: {cidr: 10.0.0.0/8, except: `+many(9, "10.%d.0.0/16")+`}}]}`,
		`spec.networkPolicy.from[0].ipBlock.except: Too many: 9: must have at most 8 items`),
	// Even empty values count, because each string needs memory.
	Entry(nil, `networkPolicy: {from: [{namespaceSelector: {matchExpressions: `+
		many(8, `{key: k%d, operator: In, values: `+many(32, `""`)+`}`)+`}}]}`,
		`spec.networkPolicy.from must have at most 4096 bytes of keys and values in its selectors`),
	Entry(nil, `networkPolicy: {metricsFrom: `+many(9, "{ipBlock: {cidr: 10.%d.0.0/16}}")+`}`,
		`spec.networkPolicy.metricsFrom: Too many: 9: must have at most 8 items`),
	Entry(nil, `resources: {limits: {a: 1, b: 1, c: 1, d: 1}}`, `spec.resources.limits: Too many: 4: must have at most 3 items`),
	Entry(nil, `resources: {requests: {a: 1, b: 1, c: 1, d: 1}}`, `spec.resources.requests: Too many: 4: must have at most 3 items`),
	Entry(nil, `podMetadata: {labels: {`+strings.Trim(many(65, "a%d: a"), "[]")+`}}`,
		`spec.podMetadata.labels: Too many: 65: must have at most 64 items`),
	Entry(nil, `podMetadata: {annotations: {`+strings.Trim(many(65, "a%d: a"), "[]")+`}}`,
		`spec.podMetadata.annotations: Too many: 65: must have at most 64 items`),
	Entry(nil, `service: {labels: {`+strings.Trim(many(65, "a%d: a"), "[]")+`}}`,
		`spec.service.labels: Too many: 65: must have at most 64 items`),
	Entry(nil, `service: {annotations: {`+strings.Trim(many(65, "a%d: a"), "[]")+`}}`,
		`spec.service.annotations: Too many: 65: must have at most 64 items`),
)
