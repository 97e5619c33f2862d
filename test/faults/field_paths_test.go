// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"path"
	"regexp"
	"slices"
	"strings"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/crd"
	"github.com/example/memcached-operator/test/repository"
)

func specFields() ([]crd.Field, error) {
	definition, err := crd.Read(repository.Path(crd.File))
	if err != nil {
		return nil, err
	}
	return crd.SpecFields(definition), nil
}

// Values that several fields share.
var (
	booleans    = []string{`true`, `false`, `null`, `"yes"`}
	texts       = []string{`""`, `"a"`, `"🚀"`, `"` + strings.Repeat("a", 253) + `"`, `"` + strings.Repeat("a", 300) + `"`, `null`, `1`}
	labelMaps   = []string{`{}`, `{"team": "shop"}`, `{"team": ""}`, `{"": "x"}`, `{"a b": "c"}`, `{"team": "` + strings.Repeat("a", 64) + `"}`, `null`}
	ownKeys     = []string{`{"app.kubernetes.io/instance": "other"}`, `{"cache.example.com/applied-hash": "x"}`}
	annotations = []string{`{}`, `{"note": "🚀"}`, `{"note": ""}`, `{"": "x"}`, `{"a b": "c"}`, `null`}
	percentages = []string{`0`, `1`, `1000`, `1001`, `-1`, `"0%"`, `"1%"`, `"100%"`, `"101%"`, `"x"`, `null`}
	resources64 = []string{
		`{}`, `{"cpu": "2"}`, `{"cpu": "250m"}`, `{"memory": "512Mi"}`, `{"memory": "1Mi"}`, `{"memory": "-1"}`,
		`{"ephemeral-storage": "1Gi"}`, `{"nvidia.com/gpu": 1}`, `{"cpu": "x"}`, `{"cpu": 0}`, `null`,
	}
	operators = []string{`"In"`, `"NotIn"`, `"Exists"`, `"DoesNotExist"`, `"Gt"`, `"near"`, `""`}
	weights   = []string{`0`, `1`, `100`, `101`, `-1`, `"1"`}
)

// boundaryValues are the values with which TestEveryField tests the fields that match a pattern. The first pattern that matches
// counts.
var boundaryValues = []struct {
	pattern string
	values  []string
}{
	{`^spec\.size$`, []string{`0`, `1`, `2`, `-1`, `1001`, `2147483648`, `1.5`, `"3"`, `null`}},
	{`^spec\.image$`, []string{
		`"memcached:1.6.46"`, `"memcached"`, `"localhost:5000/memcached"`, `"memcached@sha256:` + strings.Repeat("a", 64) + `"`,
		`""`, `" "`, `"UPPER"`, `"a..b/c"`, `"` + strings.Repeat("a", 300) + `"`, `"🚀"`, `1`, `null`,
	}},
	{`^spec\.imagePullPolicy$`, []string{`"Always"`, `"IfNotPresent"`, `"Never"`, `"always"`, `""`, `null`}},
	{`^spec\.imagePullSecrets\[\]\.name$`, []string{`"registry"`, `""`, `"UPPER"`, `"a.b"`, `"` + strings.Repeat("a", 254) + `"`, `1`}},
	{`^spec\.config\.(dump|flushAll)$`, booleans},
	{`^spec\.config\.idleTimeout$`, []string{`"0s"`, `"1s"`, `"90m"`, `"1h30m"`, `"1.5s"`, `"100ms"`, `"-1s"`, `"1d"`, `"99999999s"`, `""`, `null`}},
	{`^spec\.config\.maxConnections$`, []string{`0`, `1`, `65536`, `65537`, `-1`, `"1"`, `null`}},
	{`^spec\.config\.threads$`, []string{`0`, `1`, `64`, `65`, `-1`, `null`}},
	{`^spec\.config\.verbosity$`, []string{`0`, `1`, `2`, `-1`, `null`}},
	{`^spec\.config\.maxItemSize$`, []string{`"512Ki"`, `"1Mi"`, `"32Mi"`, `"33Mi"`, `"1Gi"`, `"600Ki"`, `0`, `1048576`, `"x"`, `null`}},
	{`^spec\.config\.memory$`, []string{`"64Mi"`, `"63Mi"`, `"1Ti"`, `"2Ti"`, `"64.5Mi"`, `134217728`, `0`, `"-64Mi"`, `"x"`, `null`}},
	{`^spec\.gracefulShutdown\.preStopDelaySeconds$`, []string{`0`, `1`, `300`, `301`, `-1`, `"5"`, `null`}},
	{`^spec\.((podDisruptionBudget|networkPolicy|monitoring)\.enabled|paused)$`, booleans},
	{`^spec\.(tls|auth)\.secretName$`, []string{`"sessions"`, `""`, `"UPPER"`, `"a.b"`, `"` + strings.Repeat("a", 254) + `"`, `1`, `null`}},
	{`^spec\.tls\.clientAuth$`, []string{`"Require"`, `"None"`, `"Optional"`, `""`, `null`}},
	{`^spec\.tls\.minVersion$`, []string{`"1.3"`, `"1.2"`, `"1.1"`, `1.3`, `null`}},
	{`^spec\.tls\.plaintext$`, []string{`"Enabled"`, `"Disabled"`, `true`, `""`, `null`}},
	{`^spec\.fillFrom\.name$`, []string{`"other"`, `"` + cacheName + `"`, `""`, `"UPPER"`, `"` + strings.Repeat("a", 254) + `"`, `1`, `null`}},
	{`^spec\.storage\.type$`, []string{`"MemoryFile"`, `"Memory"`, `"memory"`, `""`, `null`}},
	{`^spec\.updateStrategy\.podUpdatePolicy$`, []string{`"InPlaceIfPossible"`, `"ReCreate"`, `"InPlaceOnly"`, `""`, `null`}},
	{`^spec\.workload$`, []string{`"StatefulSet"`, `"Deployment"`, `"DaemonSet"`, `""`, `null`}},
	{`^spec\.restartedAt$`, []string{
		`"2026-01-01T00:00:00Z"`, `"2026-01-01T00:00:00.5+01:00"`, `"0001-01-01T00:00:00Z"`, `"2026-01-01t00:00:00Z"`, `"2026-01-01"`,
		`"now"`, `""`, `0`, `null`,
	}},
	{`\.ipBlock\.cidr$`, []string{`"10.0.0.0/8"`, `"2001:db8::/32"`, `"10.0.0.1/8"`, `"0.0.0.0/0"`, `"010.0.0.0/8"`, `"10.0.0.0"`, `"x"`, `""`, `null`, `1`}},
	{`\.ipBlock\.except\[\]$`, []string{`"10.1.0.0/16"`, `"10.0.0.0/8"`, `"11.0.0.0/16"`, `"2001:db8::/32"`, `"10.1.0.0"`, `"x"`, `""`, `null`, `1`}},
	{`^spec\.(podDisruptionBudget|updateStrategy)\.(maxUnavailable|minAvailable|maxSurge)$`, percentages},
	{`^spec\.updateStrategy\.minReadySeconds$`, []string{`0`, `1`, `3600`, `3601`, `-1`, `2147483647`, `null`}},
	{`^spec\.(podMetadata|service)\.labels\{\}$`, slices.Concat(labelMaps, ownKeys[:1])},
	{`^spec\.(podMetadata|service)\.annotations\{\}$`, slices.Concat(annotations, ownKeys[1:])},
	{`^spec\.service\.ipFamilyPolicy$`, []string{`"SingleStack"`, `"PreferDualStack"`, `"RequireDualStack"`, `"Both"`, `""`, `null`}},
	{`^spec\.resources\.(limits|requests)\{\}$`, resources64},
	{`^spec\.scheduling\.nodeSelector\{\}$`, labelMaps},
	{`^spec\.scheduling\.priorityClassName$`, []string{`"high"`, `""`, `"UPPER"`, `"🚀"`, `null`}},
	{`^spec\.scheduling\.tolerations\[\]\.effect$`, []string{`"NoSchedule"`, `"NoExecute"`, `""`, `"never"`}},
	{`^spec\.scheduling\.tolerations\[\]\.operator$`, []string{`"Exists"`, `"Equal"`, `""`, `"near"`}},
	{`\.tolerations\[\]\.tolerationSeconds$`, []string{`0`, `1`, `-1`, `9223372036854775807`, `"1"`}},
	{`\.matchExpressions\[\]\.operator$|\.matchFields\[\]\.operator$`, operators},
	{`\.matchLabels\{\}$`, labelMaps},
	{`\.namespaceSelector$`, []string{`{}`, `{"matchLabels": {"team": "a"}}`, `null`}},
	{`\.weight$`, weights},
	{`\.(maxSkew|minDomains)$`, []string{`0`, `1`, `2147483647`, `-1`, `"1"`}},
	{`\.(nodeAffinityPolicy|nodeTaintsPolicy)$`, []string{`"Honor"`, `"Ignore"`, `"never"`, `null`}},
	{`\.whenUnsatisfiable$`, []string{`"DoNotSchedule"`, `"ScheduleAnyway"`, `"never"`, `""`}},
	{`^spec\.scheduling\..*\.(key|value|topologyKey)$|^spec\.scheduling\..*\.(values|matchLabelKeys|mismatchLabelKeys|namespaces)\[\]$`, texts},
	{`^spec\.networkPolicy\..*\.key$|^spec\.networkPolicy\..*\.values\[\]$`, texts},
}

// valuesFor returns the boundary values for a field, or none if no pattern matches. For a StatefulSet, it returns only the first
// value, or the first four for a field in spec.updateStrategy.
func valuesFor(f crd.Field, workload cachev1alpha1.WorkloadKind) []string {
	for _, boundary := range boundaryValues {
		if !regexp.MustCompile(boundary.pattern).MatchString(f.Path) {
			continue
		}
		most := len(boundary.values)
		if workload == cachev1alpha1.WorkloadStatefulSet {
			most = 1
			if strings.HasPrefix(f.Path, "spec.updateStrategy.") {
				most = 4
			}
		}
		return boundary.values[:most]
	}
	return nil
}

// names reports whether a message names the field or its parent. A parent that is the spec itself does not count.
func names(f crd.Field, message string) bool {
	steps := strings.FieldsFunc(f.Path, func(r rune) bool { return strings.ContainsRune(".[]{}", r) })
	last, parent := steps[len(steps)-1], steps[len(steps)-2]
	return strings.Contains(message, "."+last) || parent != "spec" && strings.Contains(message, "."+parent)
}

func short(value string) string {
	text := regexp.MustCompile(`[^A-Za-z0-9.%-]+`).ReplaceAllString(value, "_")
	return path.Clean(text[:min(len(text), 40)])
}
