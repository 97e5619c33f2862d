// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestSpecChanges covers changes of a spec. For each, it checks the list of all changes (want) and of those that replace or restart
// nodes (ofRollout).
func TestSpecChanges(t *testing.T) {
	type spec = cachev1alpha1.MemcachedSpec
	memory := func(s *spec, value string) { s.Config.Memory = ptr.To(resource.MustParse(value)) }
	tls := &cachev1alpha1.MemcachedTLS{SecretName: "a", MinVersion: cachev1alpha1.TLSVersion13}
	long := strings.Repeat("a", 41)
	for name, c := range map[string]struct {
		before, after   func(*spec)
		want, ofRollout string
	}{
		"nothing":                    {},
		"a pause":                    {after: func(s *spec) { s.Paused = true }},
		"the same quantity":          {before: func(s *spec) { memory(s, "1Gi") }, after: func(s *spec) { memory(s, "1024Mi") }},
		"a number":                   {after: func(s *spec) { s.Size = 5 }, want: "size 3 to 5"},
		"a large number":             {after: func(s *spec) { s.Config.MaxConnections = 12345678 }, want: "config.maxConnections unset to 12345678", ofRollout: "config.maxConnections unset to 12345678"},
		"a text":                     {before: func(s *spec) { s.Image = "a:1" }, after: func(s *spec) { s.Image = "a:2" }, want: "image a:1 to a:2", ofRollout: "image a:1 to a:2"},
		"a text no longer":           {before: func(s *spec) { s.Image = "a:1" }, want: "image a:1 to unset", ofRollout: "image a:1 to unset"},
		"a long text":                {before: func(s *spec) { s.Image = "a:1" }, after: func(s *spec) { s.Image = long }, want: "image", ofRollout: "image"},
		"a text that was long":       {before: func(s *spec) { s.Image = long }, after: func(s *spec) { s.Image = "a:1" }, want: "image", ofRollout: "image"},
		"a text that is not visible": {after: func(s *spec) { s.Image = "a\u202e" }, want: "image", ofRollout: "image"},
		"a field of an object":       {before: func(s *spec) { memory(s, "64Mi") }, after: func(s *spec) { memory(s, "128Mi") }, want: "config.memory 64Mi to 128Mi", ofRollout: "config.memory 64Mi to 128Mi"},
		"an object":                  {after: func(s *spec) { s.TLS = tls }, want: "tls", ofRollout: "tls"},
		"an object no longer":        {before: func(s *spec) { s.TLS = tls }, want: "tls", ofRollout: "tls"},
		"the only field of an object": {
			after: func(s *spec) { s.Scheduling.Affinity = &corev1.Affinity{} },
			want:  "scheduling.affinity", ofRollout: "scheduling.affinity",
		},
		"a list":          {after: func(s *spec) { s.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "a"}} }, want: "imagePullSecrets", ofRollout: "imagePullSecrets"},
		"another object":  {after: func(s *spec) { s.PodDisruptionBudget.Enabled = ptr.To(false) }, want: "podDisruptionBudget.enabled unset to false"},
		"how to roll out": {after: func(s *spec) { s.UpdateStrategy.MinReadySeconds = 9 }, want: "updateStrategy.minReadySeconds unset to 9"},
		"much": {
			after: func(s *spec) { s.Size, s.Image, s.Config.Threads = 5, "a:1", 1 },
			want:  "size 3 to 5, config.threads unset to 1, image unset to a:1", ofRollout: "config.threads unset to 1, image unset to a:1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := memcachedtest.Cache(3), memcachedtest.Cache(3)
			if c.before != nil {
				c.before(&before.Spec)
			}
			if c.after != nil {
				c.after(&after.Spec)
			}
			changes := specChanges(recordSpec(before.Spec), recordSpec(after.Spec))
			ofRollout := rolloutChanges(memcached.View{Memcached: after}, cachev1alpha1.MemcachedRecord{}, false, changes)
			got := []string{strings.Join(changes, ", "), strings.Join(ofRollout, ", ")}
			if diff := cmp.Diff([]string{c.want, c.ofRollout}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if changes := specChanges(nil, recordSpec(memcachedtest.Cache(3).Spec)); changes != nil {
		t.Errorf("from a spec that is not known: %q", changes)
	}
}

// TestRecordedSpecFits checks that no spec exceeds the limits in the schema of status.lastApplied. An item of its field "changes"
// has the name of a field and two values of up to 40 bytes.
func TestRecordedSpecFits(t *testing.T) {
	const maxFields, maxText = 64, 160 - len(" ") - 40 - len(" to ") - 40
	fields := 0
	for _, name := range fieldNames(reflect.TypeFor[cachev1alpha1.MemcachedSpec](), 2) {
		fields++
		if len(name) > maxText {
			t.Errorf("spec.%s is too long for the items of status.lastApplied.changes", name)
		}
	}
	if fields < 30 || fields > maxFields {
		t.Errorf("status.lastApplied holds %d fields, the spec has %d", maxFields, fields)
	}
}

// fieldNames returns the JSON names of a type's fields, including nested fields up to this depth.
func fieldNames(of reflect.Type, depth int) []string {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if depth == 0 || of.Kind() != reflect.Struct || reflect.PointerTo(of).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	var names []string
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" { // the field is inlined
			names = append(names, fieldNames(field.Type, depth)...)
			continue
		}
		inner := fieldNames(field.Type, depth-1)
		if len(inner) == 0 {
			names = append(names, name)
		}
		for _, of := range inner {
			names = append(names, name+"."+of)
		}
	}
	return names
}
