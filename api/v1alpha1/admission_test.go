// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/crd"
)

const (
	memoryRule      = "spec.config.memory must be a whole number of MiB from 64Mi to 1Ti, such as 64Mi or 2Gi"
	maxItemSizeRule = "spec.config.maxItemSize must be a multiple of 512Ki from 512Ki to 1Gi, such as 512Ki or 2Mi"
	idleTimeoutRule = "spec.config.idleTimeout must be whole seconds, minutes and hours from 1s to 720h, such as 30s, 10m or 1h30m"
	priorityRule    = "spec.scheduling.priorityClassName must be the name of a PriorityClass: lowercase letters, digits, '-' and '.', " +
		"starting and ending with a letter or a digit"
	affinityRule = "spec.scheduling.affinity must have no terms with namespaces or a namespaceSelector, as a Memcached has no say about " +
		"the pods of others: remove them"
	timeRule       = " must be a time that Go can read, such as 2026-01-01T00:00:00Z, and at the latest 9999-12-31T23:59:59Z"
	quantityRule   = " must hold quantities from 0 to 1Pi, such as memory: 256Mi or cpu: 500m"
	secretNameRule = ".secretName must be the name of a Secret: lowercase letters, digits, '-' and '.'"
	labelRule      = "the value of a label must be at most 63 letters, digits, '-', '_' and '.', starting and ending with a letter or a digit, or empty"
	reservedRule   = "labels must not hold app.kubernetes.io/name, app.kubernetes.io/instance, app.kubernetes.io/managed-by, pod-template-hash " +
		"or a key that starts with cache.example.com/: they belong to the operator, remove them"
	clusterRule = "labels must not hold k8s-app or a key under kubernetes.io or k8s.io, except app.kubernetes.io: they have a meaning to the " +
		"cluster, remove them"
	annotationRule = "annotations must not hold a key that starts with cache.example.com/: they belong to the operator, remove them"
	profileRule    = "spec.podMetadata.annotations must not hold a key of container.apparmor.security.beta.kubernetes.io or " +
		"seccomp.security.alpha.kubernetes.io, which would take a security profile away: remove it"
	peerRule = " must have a podSelector, a namespaceSelector or both, or else an ipBlock alone"
	boolean  = `must be of type boolean: "string"`
)

// wrongFields are the fields in the table below.
var wrongFields = map[string]bool{}

// wrong returns a row with values in JSON that the API server refuses in a field. Its answer names the field and has these words.
func wrong(field, words string, values ...string) TableEntry {
	wrongFields[field] = true
	return Entry(nil, field, words, values)
}

// A value is tried in a spec with no other fields but those that are required.
var _ = DescribeTable("A wrong value is refused with the field and the fix",
	func(ctx SpecContext, field, words string, values []string) {
		places := crd.Places("spec", schema().Properties["spec"])
		at := slices.IndexFunc(places, func(p crd.Place) bool { return p.Path == field })
		Expect(at).NotTo(Equal(-1), "there is no such field")
		for _, value := range values {
			By(value)
			_, err := dryRun(ctx, "cache", places[at].With(value))
			expectRefusal(err, field, words)
		}
	},
	func(field, words string, _ []string) string { return fmt.Sprintf("%s: %.70s", field, words) },
	wrong("spec.size", "in body should be greater than or equal to 0", `-1`),
	wrong("spec.size", "in body should be less than or equal to 1000", `1001`, `3000000000`),
	wrong("spec.size", "in body must be of type int32", `1.5`),
	wrong("spec.size", "in body must be of type integer", `"3"`),
	wrong("spec.image", noReference, `"Memcached"`, `"memcached latest"`, `""`),
	wrong("spec.image", imageID, quoted("a1", 32)),
	wrong("spec.image", tooLong, quoted("a", 248)),
	wrong("spec.image", "Too long: may not be more than 512 bytes", quoted("a/", 257)),
	wrong("spec.imagePullPolicy", `Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"`, `"Sometimes"`),
	wrong("spec.imagePullSecrets", "spec.imagePullSecrets[].name must be the name of a Secret", `[{}]`, `[{"name": ""}]`),
	wrong("spec.imagePullSecrets", `[1]: Duplicate value: {"name":"a"}`, `[{"name": "a"}, {"name": "a"}]`),
	wrong("spec.imagePullSecrets", "Too many: 17: must have at most 16 items", many(17, `{"name": "a%d"}`)),
	wrong("spec.config.memory", memoryRule, `"63Mi"`, `"64.5Mi"`, `"1048577Mi"`, `67108865`, `0`, `"-64Mi"`, `"abc"`, `""`, `"64 Mi"`, `"1e1.5"`),
	wrong("spec.config.memory", "must have at most 32 characters, such as 64Mi or 2Gi", quoted("0", 33)),
	wrong("spec.config.memory", "in body must be of type integer,string", `1e30`),
	wrong("spec.config.maxItemSize", maxItemSizeRule, `"700Ki"`, `"256Ki"`, `"1025Mi"`, `0`, `"-1Mi"`, `""`),
	wrong("spec.config.maxItemSize", "must have at most 32 characters, such as 512Ki or 2Mi", quoted("0", 33)),
	wrong("spec.config.maxItemSize", "is 33Mi, more than half of spec.config.memory (64Mi), which memcached refuses: lower maxItemSize or "+
		"raise memory", `"33Mi"`),
	wrong("spec.config.maxConnections", "in body should be greater than or equal to 1", `0`),
	wrong("spec.config.maxConnections", "in body should be less than or equal to 65536", `65537`),
	wrong("spec.config.threads", "in body should be greater than or equal to 1", `0`),
	wrong("spec.config.threads", "in body should be less than or equal to 64", `65`),
	wrong("spec.config.idleTimeout", idleTimeoutRule, `"0s"`, `"-1s"`, `"1.5s"`, `"1d"`, `""`, `"721h"`, `"720h1s"`, `"1000ms"`, quoted("0", 16)),
	wrong("spec.config.idleTimeout", "Too long: may not be more than 16 bytes", quoted("0", 17)),
	wrong("spec.config.idleTimeout", `in body must be of type string: "integer"`, `60`),
	wrong("spec.config.flushAll", boolean, `"yes"`),
	wrong("spec.config.dump", boolean, `"yes"`),
	resourceLists(),
	wrong("spec.scheduling.nodeSelector", `must be of type string: "integer"`, `{"disk": 1}`),
	wrong("spec.scheduling.tolerations", `must be of type array: "object"`, `{}`),
	wrong("spec.scheduling.tolerations", "spec.scheduling.tolerations[].value must not be set with the operator Exists", `[{"operator": "Exists", "value": "a"}]`),
	wrong("spec.scheduling.affinity", affinityRule, termsOfOthers()...),
	wrong("spec.scheduling.topologySpreadConstraints", `[1]: Duplicate value: {"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"}`,
		many(2, `{"topologyKey": "a", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}`)),
	wrong("spec.scheduling.priorityClassName", priorityRule, `""`, `"High"`),
	wrong("spec.scheduling.priorityClassName", "Too long: may not be more than 253 bytes", quoted("a", 254)),
	metadata("spec.podMetadata"),
	metadata("spec.service"),
	wrong("spec.podMetadata.annotations", profileRule, `{"container.apparmor.security.beta.kubernetes.io/memcached": ""}`,
		`{"seccomp.security.alpha.kubernetes.io/pod": ""}`, `{"container.seccomp.security.alpha.kubernetes.io/memcached": ""}`),
	wrong("spec.service.ipFamilyPolicy", `Unsupported value: "DualStack": supported values: "SingleStack", "PreferDualStack", "RequireDualStack"`, `"DualStack"`),
	wrong("spec.podDisruptionBudget.enabled", boolean, `"yes"`),
	share("spec.podDisruptionBudget.maxUnavailable"),
	wrong("spec.networkPolicy.from", "in body should have at least 1 items", `[]`),
	wrong("spec.networkPolicy.from", "[0].ipBlock.cidr: Required value", `[{"ipBlock": {}}]`),
	wrong("spec.networkPolicy.metricsFrom", "in body should have at least 1 items", `[]`),
	wrong("spec.networkPolicy.from", "spec.networkPolicy.from[]"+peerRule, `[{}]`, `[{"ipBlock": {"cidr": "10.0.0.0/8"}, "podSelector": {}}]`),
	wrong("spec.networkPolicy.metricsFrom", "spec.networkPolicy.metricsFrom[]"+peerRule, `[{}]`),
	wrong("spec.tls.secretName", "spec.tls"+secretNameRule, `""`, `"Secret"`),
	wrong("spec.tls.secretName", "Too long: may not be more than 253 bytes", quoted("a", 254)),
	wrong("spec.tls.clientAuth", `Unsupported value: "Optional": supported values: "None", "Require"`, `"Optional"`),
	wrong("spec.tls.minVersion", `spec.tls.minVersion must be "1.2" or "1.3", in quotation marks`, `"1.1"`),
	wrong("spec.tls.minVersion", `in body must be of type string: "number"`, `1.3`),
	wrong("spec.tls.plaintext", `in body must be of type string: "boolean"`, `true`),
	wrong("spec.auth.secretName", "spec.auth"+secretNameRule, `""`, `"a/b"`),
	wrong("spec.auth.secretName", "Too long: may not be more than 253 bytes", quoted("a", 254)),
	wrong("spec.workload", `Unsupported value: "DaemonSet": supported values: "Deployment", "StatefulSet"`, `"DaemonSet"`),
	wrong("spec.storage.type", `Unsupported value: "File": supported values: "Memory", "MemoryFile"`, `"File"`),
	wrong("spec.copies", "in body should be greater than or equal to 1", `0`),
	wrong("spec.copies", "in body should be less than or equal to 3", `4`),
	share("spec.updateStrategy.maxUnavailable"),
	wrong("spec.updateStrategy.minReadySeconds", "in body should be greater than or equal to 0", `-1`),
	wrong("spec.updateStrategy.minReadySeconds", "in body should be less than or equal to 3600", `3601`),
	wrong("spec.updateStrategy.podUpdatePolicy", `Unsupported value: "InPlaceOnly": supported values: "Recreate", "InPlaceOrRecreate"`, `"InPlaceOnly"`),
	wrong("spec.gracefulShutdown.preStopDelaySeconds", "in body should be greater than or equal to 0", `-1`),
	wrong("spec.gracefulShutdown.preStopDelaySeconds", "in body should be less than or equal to 300", `301`),
	wrong("spec.paused", boolean, `"yes"`),
	instant("spec.restartedAt"),
	instant("spec.replacedAt"),
	wrong("spec.proxy.size", "in body should be less than or equal to 1000", `1001`),
	wrong("spec.proxy.size", "in body should be greater than or equal to 0", `-1`),
	wrong("spec.proxy.threads", "in body should be less than or equal to 64", `65`),
)

// resourceLists returns rows for limits and requests.
func resourceLists() (rows []TableEntry) {
	for _, field := range []string{
		"spec.resources.limits", "spec.resources.requests", "spec.agent.resources.limits", "spec.agent.resources.requests",
		"spec.proxy.resources.limits", "spec.proxy.resources.requests",
	} {
		_, list, _ := strings.Cut(field, "resources.")
		list = "resources." + list
		rows = append(rows,
			wrong(field, list+" may hold cpu, memory and ephemeral-storage only: remove the others", `{"nvidia.com/gpu": 1}`, `{"": 1}`),
			wrong(field, list+quantityRule, `{"memory": "10E"}`, `{"ephemeral-storage": "1025Ti"}`, `{"cpu": -1}`, `{"memory": "1GB"}`, `{"cpu": "1e1.5"}`),
			wrong(field, list+" must hold quantities of at most 32 characters", `{"cpu": `+quoted("0", 33)+`}`),
			wrong(field, "Too many: 4: must have at most 3 items", `{"a": 1, "b": 1, "c": 1, "d": 1}`),
			// The API server checks types before it evaluates rules. The descriptions of the fields name the fix.
			wrong(field, field+`.cpu in body must be of type integer,string: "number"`, `{"cpu": 0.5}`),
		)
	}
	return rows
}

// termsOfOthers returns affinities with terms about the pods of other namespaces.
func termsOfOthers() (affinities []string) {
	for _, kind := range []string{"podAffinity", "podAntiAffinity"} {
		for _, term := range []string{`"namespaces": ["a"]`, `"namespaceSelector": {}`, `"namespaceSelector": {"matchLabels": {"team": "a"}}`} {
			term = `{"topologyKey": "a", ` + term + `}`
			affinities = append(affinities,
				fmt.Sprintf(`{%q: {"requiredDuringSchedulingIgnoredDuringExecution": [%s]}}`, kind, term),
				fmt.Sprintf(`{%q: {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": %s}]}}`, kind, term))
		}
	}
	return affinities
}

// metadata returns rows for the labels and annotations in a field.
func metadata(field string) []TableEntry {
	labels, annotations := field+".labels", field+".annotations"
	return []TableEntry{
		wrong(labels, reservedRule, `{"app.kubernetes.io/name": "a"}`, `{"app.kubernetes.io/instance": "a"}`, `{"app.kubernetes.io/managed-by": "a"}`,
			`{"pod-template-hash": "a"}`, `{"cache.example.com/a": "a"}`),
		wrong(labels, clusterRule, `{"k8s-app": "a"}`, `{"kubernetes.io/cluster-service": "a"}`, `{"node-role.kubernetes.io/a": "a"}`, `{"a.k8s.io/a": "a"}`),
		wrong(labels, labelRule, `{"team": "-a"}`, `{"team": "a b"}`, `{"team": "فريق"}`),
		wrong(labels, "Too long: may not be more than 63 bytes", `{"team": `+quoted("a", 64)+`}`),
		wrong(labels, `must be of type string: "integer"`, `{"team": 1}`),
		wrong(annotations, annotationRule, `{"cache.example.com/a": "a"}`),
		wrong(annotations, "Too long: may not be more than 8192 bytes", `{"note": `+quoted("a", 8193)+`}`),
		wrong(labels, "Too many: 65: must have at most 64 items", "{"+strings.Trim(many(65, `"a%d": "a"`), "[]")+"}"),
		wrong(annotations, "Too many: 65: must have at most 64 items", "{"+strings.Trim(many(65, `"a%d": "a"`), "[]")+"}"),
	}
}

// instant returns rows for a time.
func instant(field string) []TableEntry {
	return []TableEntry{
		wrong(field, "in body must be of type date-time", `"now"`, `"2026-01-01"`),
		wrong(field, field+timeRule, `"2026-01-01t00:00:00Z"`, `[]`, `"9999-12-31T23:59:59-14:00"`, `"0001-01-01T00:00:00Z"`, `"0001-01-01T00:00:00.9Z"`),
	}
}

// share returns rows for a field that is a number of nodes or a percentage of size.
func share(field string) []TableEntry {
	return []TableEntry{
		wrong(field, field+" must be a number from 0 to 1000 or a percentage from 0% to 100%", `-1`, `1001`, `2147483648`, `"101%"`, `"-1%"`, `"1.5%"`,
			`"abc"`, `""`, `"1"`, `"%"`, `"00%"`, `"1%%"`, `"50 %"`, `"５０%"`),
		wrong(field, "in body must be of type integer,string", `1.5`),
	}
}

// many returns a JSON list with count elements. In each element, which is a copy of thing, the index replaces %d.
func many(count int, thing string) string {
	things := make([]string, count)
	for i := range things {
		things[i] = strings.ReplaceAll(thing, "%d", strconv.Itoa(i))
	}
	return "[" + strings.Join(things, ", ") + "]"
}

func quoted(text string, count int) string { return strconv.Quote(strings.Repeat(text, count)) }

// Users meet a field for the first time with a wrong value, so each field has one in the table.
func TestEveryFieldHasAWrongValue(t *testing.T) {
	for _, field := range ownFields() {
		if strings.HasPrefix(field.Path, "spec.") && len(field.Schema.Properties) == 0 && !wrongFields[field.Path] {
			t.Errorf("%s has no wrong value", field.Path)
		}
	}
}

var _ = DescribeTable("Fields that cannot work together are refused with the field and the fix",
	func(ctx SpecContext, spec string, words ...string) {
		_, err := dryRunSpec(ctx, spec)
		expectRefusal(err, strings.Join(words, ""))
	},
	func(spec string, _ ...string) string { return fmt.Sprintf("%.120s", spec) },
	Entry(nil, `{}`, `spec.size: Required value`),
	Entry(nil, `{size: null}`, `spec.size: Required value`),
	Entry(nil, `{size: 1, tls: {}}`, `spec.tls.secretName: Required value`),
	Entry(nil, `{size: 1, auth: {}}`, `spec.auth.secretName: Required value`),
	Entry(nil, `{size: 1, config: {maxItemSize: 66Mi, memory: 131Mi}}`, `spec.config.maxItemSize is 66Mi, more than half of spec.config.memory (131Mi)`),
	Entry(nil, `{size: 1, resources: {limits: {memory: 164Mi}}}`,
		`spec.resources.limits: Invalid value: spec.resources.limits.memory is 164Mi, but memcached with memory 64Mi and 1024 connections needs at `,
		`least 165Mi: raise it, or lower spec.config.memory, maxConnections or threads`),
	Entry(nil, `{size: 1, config: {memory: 1Gi, maxConnections: 1}, resources: {limits: {memory: 1187Mi}}}`, `1 connections needs at least 1188Mi`),
	Entry(nil, `{size: 1, config: {threads: 64}, resources: {limits: {memory: 590Mi, cpu: 1}}}`, `needs at least 591Mi: raise it`),
	Entry(nil, `{size: 1, resources: {limits: {memory: 143Mi, cpu: 1}}}`, `needs at least 144Mi: raise it`),
	Entry(nil, `{size: 1, resources: {limits: {memory: 0}, requests: {memory: 0}}}`, `spec.resources.limits.memory is 0, but memcached with`),
	Entry(nil, `{size: 1, tls: {secretName: a}, resources: {limits: {memory: 211Mi}}}`, `1024 TLS connections needs at least 212Mi: raise it`),
	Entry(nil, `{size: 1, config: {maxConnections: 65536}, resources: {requests: {memory: 256Mi}}}`,
		`spec.resources.requests: Invalid value: spec.resources.requests.memory is 256Mi and is also the limit as no limit is given, but memcached with `,
		`memory 64Mi and 65536 connections needs at least 1236Mi: raise it, or lower spec.config.memory, maxConnections or threads`),
	Entry(nil, `{size: 1, resources: {limits: {cpu: 1}, requests: {memory: 100Mi}}}`, `is 100Mi and is also the limit as no limit is given`),
	Entry(nil, `{size: 1, resources: {limits: {cpu: 1}, requests: {cpu: 1001m}}}`, `spec.resources.requests: Invalid value: `,
		`resources.requests.cpu must not be larger than resources.limits.cpu: lower the request or raise the limit`),
	Entry(nil, `{size: 1, resources: {limits: {memory: 1Gi}, requests: {memory: 1025Mi}}}`, `requests.memory must not be larger than resources.limits.memory`),
	Entry(nil, `{size: 1, resources: {limits: {ephemeral-storage: 1Gi}, requests: {ephemeral-storage: 2Gi}}}`,
		`requests.ephemeral-storage must not be larger than resources.limits.ephemeral-storage`),
	Entry(nil, `{size: 1, agent: {resources: {limits: {cpu: 1}}}}`, `spec.agent: Invalid value: spec.agent must not be set with spec.workload `,
		`Deployment, whose pods are memcached alone and have no agent: use a Memcached with spec.workload StatefulSet`),
	Entry(nil, `{size: 1, workload: StatefulSet, agent: {resources: {limits: {memory: 23Mi}}}}`, `spec.agent.resources: Invalid value: `,
		`spec.agent.resources.limits.memory sets the memory limit to 23Mi, but the agent needs at least 24Mi: raise it`),
	Entry(nil, `{size: 1, workload: StatefulSet, auth: {secretName: a}, agent: {resources: {requests: {memory: 24Mi}}}}`,
		`spec.agent.resources.requests.memory sets the memory limit to 24Mi, but the agent needs at least 32Mi with spec.tls or spec.auth: raise it`),
	Entry(nil, `{size: 1, workload: StatefulSet, agent: {resources: {limits: {cpu: 1}, requests: {cpu: 2}}}}`, `spec.agent.resources.requests: `,
		`Invalid value: resources.requests.cpu must not be larger than resources.limits.cpu: lower the request or raise the limit`),
	Entry(nil, `{size: 1, tls: {secretName: a}, auth: {secretName: a}}`,
		`spec.auth.secretName: Invalid value: spec.auth.secretName must not be the Secret of spec.tls: each of its keys would be a user`),
	Entry(nil, `{size: 1, workload: StatefulSet, updateStrategy: {maxUnavailable: 0%}}`,
		`spec.updateStrategy.maxUnavailable must not be 0 with spec.workload StatefulSet, whose nodes keep their names: the old one must leave before `,
		`the new one can start`),
	Entry(nil, `{size: 1, replacedAt: "2026-01-01T00:00:00Z"}`,
		`spec.replacedAt: Invalid value: spec.replacedAt must not be set with spec.workload Deployment, whose pods spec.restartedAt replaces: `,
		`set that instead`),
	Entry(nil, `{size: 1, updateStrategy: {podUpdatePolicy: InPlaceOrRecreate}}`,
		`spec.updateStrategy.podUpdatePolicy must not be InPlaceOrRecreate with spec.workload Deployment, which replaces its pods for every change: `,
		`use a Memcached with spec.workload StatefulSet`),
	Entry(nil, `{size: 1, storage: {type: MemoryFile}, config: {memory: 128Mi}}`,
		`spec.storage.type must not be MemoryFile with spec.workload Deployment, whose nodes never restart in their pods: use a Memcached with `,
		`spec.workload StatefulSet, or set spec.storage.type to Memory`),
	Entry(nil, `{size: 1, tls: {secretName: a}}`, `spec.tls must not be set with spec.workload Deployment, whose pods are memcached alone and have `,
		`no agent to load the certificate: use a Memcached with spec.workload StatefulSet`),
	Entry(nil, `{size: 1, auth: {secretName: a}}`, `spec.auth must not be set with spec.workload Deployment, whose pods are memcached alone and `,
		`have no agent to load the users: use a Memcached with spec.workload StatefulSet`),
	Entry(nil, `{size: 1, proxy: {}}`, `spec.proxy must not be set with spec.workload Deployment, whose nodes have no stable names to which `,
		`proxies could route: use a Memcached with spec.workload StatefulSet`),
	Entry(nil, `{size: 1, workload: StatefulSet, proxy: {}, auth: {secretName: a}}`, `spec.auth must not be set with spec.proxy, because proxies `,
		`cannot log in to nodes: remove one of the two, and limit who may connect with spec.networkPolicy`),
	Entry(nil, `{size: 1, networkPolicy: {metricsFrom: [{podSelector: {}}]}}`, `spec.networkPolicy.metricsFrom must not be set with spec.workload `,
		`Deployment, whose pods are memcached alone and have no metrics: use a Memcached with spec.workload StatefulSet`),
	Entry(nil, `{size: 1, workload: StatefulSet, storage: {type: MemoryFile}, config: {memory: 127Mi}}`,
		`spec.config.memory must be at least 128Mi with spec.storage.type MemoryFile, which takes a page of 1 MiB for each of 39 item sizes at the start`),
	Entry(nil, `{size: 501, workload: StatefulSet, copies: 2}`, `spec.size times spec.copies must be at most 1000`),
	Entry(nil, `{size: 1, copies: 2}`, `spec.copies must not be more than 1 with spec.workload Deployment, whose nodes have no numbers: use a `,
		`Memcached with spec.workload StatefulSet`),
	Entry(nil, `{size: 1, workload: StatefulSet, copies: 2, config: {memory: 128Mi}, storage: {type: MemoryFile}}`,
		`spec.copies must not be more than 1 with spec.storage.type MemoryFile`),
	Entry(nil, `{size: 1, workload: StatefulSet, copies: 2, auth: {secretName: a}}`, `spec.auth must not be set with spec.copies of more than 1`),
	Entry(nil, `{size: 1, workload: StatefulSet, copies: 2, proxy: {threads: 2}}`,
		`spec.proxy.threads must be 1 with spec.copies of more than 1, because one thread gives the writes of a key one order`),
	Entry(nil, `{size: 1, workload: StatefulSet, copies: 2, podDisruptionBudget: {maxUnavailable: 2}}`,
		`spec.podDisruptionBudget.maxUnavailable must be 0 or 1 with spec.copies of more than 1: a drain may not stop two copies of the same items`),
)

var _ = It("A field that does not exist is refused by its name, as kubectl asks", func(ctx SpecContext) {
	_, err := dryRunSpec(ctx, `{size: 1, replicas: 3, service: {type: LoadBalancer}}`)
	Expect(err).To(MatchError(ContainSubstring(`unknown field "spec.replicas", unknown field "spec.service.type"`)))
})

var _ = Describe("A wrong name is refused with the fix", func() {
	DescribeTable("unless a Service can have it", func(ctx SpecContext, accepted bool, names ...string) {
		for _, name := range names {
			_, err := dryRun(ctx, name, `{"size": 1}`)
			expectRefusalIf(!accepted, err, "metadata: Invalid value: metadata.name must be the name of a Service, like that of the Service NAME-nodes: at most 57 "+
				"lowercase letters, digits and '-', starting with a letter and ending with a letter or digit")
		}
	},
		EntryDescription("accepted: %t"),
		Entry(nil, true, "b", "m-1", strings.Repeat("a", 57)),
		Entry(nil, false, strings.Repeat("a", 58), "1cache", "my.cache", "Cache", "cache-", "-cache", "my_cache", "缓存", "🚀"),
	)

	// The label controller-revision-hash on the pods of a StatefulSet holds the name of the StatefulSet, "-" and ten more characters.
	// The value of a label has at most 63 characters.
	It("if it is too long for the labels of a StatefulSet's pods", func(ctx SpecContext) {
		for length, accepted := range map[int]bool{52: true, 53: false} {
			_, err := dryRun(ctx, strings.Repeat("a", length), `{"size": 1, "workload": "StatefulSet"}`)
			expectRefusalIf(!accepted, err, "metadata: Invalid value: metadata.name must have at most 52 characters with spec.workload StatefulSet")
			_, err = dryRun(ctx, strings.Repeat("a", length-2), `{"size": 1, "workload": "StatefulSet", "copies": 3}`)
			expectRefusalIf(!accepted, err, "metadata: Invalid value: metadata.name must have at most 50 characters with spec.copies of more than 1")
		}
	})

	It("if it is missing", func(ctx SpecContext) {
		_, err := dryRun(ctx, "", `{"size": 1}`)
		expectRefusal(err, "metadata.name: Required value: name or generateName is required")
	})
})

// A Memcached without spec.workload has a Deployment, because the API server sets the default.
var _ = DescribeTable("spec.workload is immutable, whether it is set or not",
	func(ctx SpecContext, stored, spec string, accepted bool) {
		mc := create(ctx, "workload", cachev1alpha1.MemcachedSpec{Size: 1, Workload: cachev1alpha1.WorkloadKind(stored)})
		_, err := send(ctx, raw.Put().Name(mc.Name), manifest(mc.Name, mc.ResourceVersion, spec))
		expectRefusalIf(!accepted, err, "spec.workload is immutable, because a change would empty the cache: "+
			"create a second Memcached, lead the clients to it, then delete this one")
	},
	EntryDescription("%q, then %s"),
	Entry(nil, "", `{"size": 2}`, true),
	Entry(nil, "", `{"size": 2, "workload": "Deployment"}`, true),
	Entry(nil, "Deployment", `{"size": 2, "workload": null}`, true),
	Entry(nil, "StatefulSet", `{"size": 2, "workload": "StatefulSet"}`, true),
	Entry(nil, "", `{"size": 1, "workload": "StatefulSet"}`, false),
	Entry(nil, "Deployment", `{"size": 1, "workload": "StatefulSet"}`, false),
	Entry(nil, "StatefulSet", `{"size": 1, "workload": "Deployment"}`, false),
	Entry(nil, "StatefulSet", `{"size": 1}`, false),
	Entry(nil, "StatefulSet", `{"size": 1, "workload": null}`, false),
)

var _ = It("spec.copies is immutable, whether it is set or not", func(ctx SpecContext) {
	mc := create(ctx, "copies", cachev1alpha1.MemcachedSpec{Size: 1, Workload: cachev1alpha1.WorkloadStatefulSet})
	for spec, accepted := range map[string]bool{`"size": 2`: true, `"size": 2, "copies": 1`: true, `"size": 1, "copies": 2`: false} {
		text := manifest(mc.Name, mc.ResourceVersion, `{"workload": "StatefulSet", `+spec+`}`)
		_, err := send(ctx, raw.Put().Name(mc.Name), text)
		expectRefusalIf(!accepted, err, "spec.copies is immutable, because a change would give the keys to other nodes")
	}
})

var _ = DescribeTable("spec.proxy neither comes nor goes with TLS",
	func(ctx SpecContext, proxy, tls bool, spec string, accepted bool) {
		stored := cachev1alpha1.MemcachedSpec{Size: 1, Workload: cachev1alpha1.WorkloadStatefulSet}
		if proxy {
			stored.Proxy = &cachev1alpha1.MemcachedProxy{}
		}
		if tls {
			stored.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "a"}
		}
		mc := create(ctx, "proxy", stored)
		spec = `{"size": 1, "workload": "StatefulSet"` + spec + `}`
		_, err := send(ctx, raw.Put().Name(mc.Name), manifest(mc.Name, mc.ResourceVersion, spec))
		expectRefusalIf(!accepted, err, "spec.proxy must not be added or removed with spec.tls, because nodes and proxies cannot change at the "+
			"same moment: remove spec.tls before, or create a second Memcached and lead the clients to it")
	},
	EntryDescription("proxy %t, tls %t, then %s"),
	Entry(nil, false, false, `, "proxy": {}`, true),
	Entry(nil, true, false, ``, true),
	Entry(nil, true, false, `, "proxy": {"size": 3}, "tls": {"secretName": "a"}`, true),
	Entry(nil, true, true, `, "proxy": {}`, true),
	Entry(nil, false, true, `, "proxy": {}, "tls": {"secretName": "a"}`, false),
	Entry(nil, true, true, `, "tls": {"secretName": "a"}`, false),
	Entry(nil, true, true, ``, false),
	Entry(nil, false, true, `, "proxy": {}`, false),
	Entry(nil, false, false, `, "proxy": {}, "tls": {"secretName": "a"}`, false),
)
