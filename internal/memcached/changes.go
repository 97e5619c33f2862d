// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// recordedFields are values of fields of a spec by their names.
type recordedFields = map[string]cachev1alpha1.RecordedValue

const (
	sizeField  = "size"
	hashPrefix = "hash:"
)

// RecordSpec is a spec as a record has it: the fields that are set, with those of an object each on its own. A pause holds changes back,
// and is none.
func RecordSpec(spec cachev1alpha1.MemcachedSpec) map[string]cachev1alpha1.RecordedValue {
	spec.Paused = false
	fields, recorded := map[string]any{}, recordedFields{}
	if err := json.Unmarshal(encode(spec), &fields); err != nil {
		panic(err) // it was encoded
	}
	for name, value := range fields {
		inner, ok := value.(map[string]any)
		if !ok {
			recorded[name] = recordValue(value)
		}
		for field, value := range inner {
			recorded[name+"."+field] = recordValue(value)
		}
	}
	return recorded
}

// recordValue is a scalar that is short and printable, or the hash of another value.
func recordValue(value any) cachev1alpha1.RecordedValue {
	const longest = 40
	encoded := encode(value)
	var text string
	switch value := value.(type) {
	case string:
		text = value
	case float64, bool:
		text = string(encoded)
	}
	if text != "" && len(text) <= longest && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return cachev1alpha1.RecordedValue(text)
	}
	sum := sha256.Sum256(encoded)
	return cachev1alpha1.RecordedValue(fmt.Sprintf("%s%x", hashPrefix, sum[:8]))
}

// SpecChanges says which fields differ between recorded specs, and how as far as that is known, the size first. An object of several
// fields that comes or goes is named as a whole. From a spec that was not recorded, nothing differs.
func SpecChanges(before, after map[string]cachev1alpha1.RecordedValue) []string {
	if len(before) == 0 {
		return nil
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	delete(all, sizeField)
	var changes []string
	for _, name := range append([]string{sizeField}, slices.Sorted(maps.Keys(all))...) {
		was, is := before[name], after[name]
		object, _, _ := strings.Cut(name, ".")
		switch {
		case was == is:
		case cameOrWent(object, before, after):
			changes = append(changes, object)
		case strings.HasPrefix(string(was), hashPrefix), strings.HasPrefix(string(is), hashPrefix):
			changes = append(changes, name)
		default:
			changes = append(changes, fmt.Sprintf("%s %s to %s", name, cmp.Or(was, "unset"), cmp.Or(is, "unset")))
		}
	}
	return slices.Compact(changes)
}

// cameOrWent reports whether all fields of an object are recorded once only, and are several.
func cameOrWent(object string, before, after recordedFields) bool {
	count := func(recorded recordedFields) (fields int) {
		for name := range recorded {
			if strings.HasPrefix(name, object+".") {
				fields++
			}
		}
		return fields
	}
	was, is := count(before), count(after)
	return was*is == 0 && was+is > 1
}

// ChangesKind reports whether a change of the spec is one of the objects of a Kind: of those whose name the field has, or else of the
// workload.
func ChangesKind(change, kind string) bool {
	field := fieldOf(change)
	for _, child := range Children {
		if strings.EqualFold(child.Kind.Kind, field) {
			return child.Kind.Kind == kind
		}
	}
	return IsWorkload(kind)
}

// ReplacesNodes reports whether a change of the spec may be one of the pods, and not only of their number or the way to replace them.
func ReplacesNodes(change string) bool {
	field := fieldOf(change)
	return field != sizeField && field != "updateStrategy" && ChangesKind(change, string(cachev1alpha1.WorkloadDeployment))
}

// fieldOf is the field of the spec that a change is about.
func fieldOf(change string) string {
	return change[:len(change)-len(strings.TrimLeftFunc(change, unicode.IsLetter))]
}
