// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/equality"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// recordedFields maps the names of spec fields to their recorded values.
type recordedFields = map[string]cachev1alpha1.RecordedValue

const (
	sizeField  = "size"
	hashPrefix = "hash:"
)

// recordSpec flattens a spec to names and values of fields, such as "config.memory" and "64Mi". It descends one level into objects.
// It leaves out "paused", which only delays changes.
func recordSpec(spec cachev1alpha1.MemcachedSpec) recordedFields {
	spec.Paused = false
	fields, recorded := map[string]any{}, recordedFields{}
	if err := json.Unmarshal([]byte(encode(spec)), &fields); err != nil {
		panic(err) // encode has returned this text
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

// recordValue returns a short printable scalar as it is, and a hash of any other value.
func recordValue(value any) cachev1alpha1.RecordedValue {
	const longest = 40
	encoded := encode(value)
	var text string
	switch value := value.(type) {
	case string:
		text = value
	case float64, bool:
		text = encoded
	}
	if text != "" && len(text) <= longest && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return cachev1alpha1.RecordedValue(text)
	}
	sum := sha256.Sum256([]byte(encoded))
	return cachev1alpha1.RecordedValue(hashPrefix + hex.EncodeToString(sum[:8]))
}

// specChanges lists the fields that differ, the size first, such as "size 3 to 5". If a value was recorded as a hash, it lists only the
// name of the field. If an object with several fields was added or removed, it lists only the name of the object. It returns nil if
// before is unknown.
func specChanges(before, after recordedFields) []string {
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

// cameOrWent reports whether an object with several fields exists in only one of two specs.
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

// rolloutChanges returns the changes that replace or restart nodes. But in two cases, it returns the changes in the last record
// (status.lastApplied), because the last rollout may still go on. In both, the template hash is that of the last record:
//   - No change replaces or restarts nodes.
//   - The defaults are those of the last record, and no wave is in progress (restarting is false).
func rolloutChanges(v memcached.View, decided cachev1alpha1.MemcachedRecord, restarting bool, changes []string) []string {
	changes = slices.DeleteFunc(slices.Clone(changes), func(change string) bool {
		return strings.HasPrefix(change, sizeField+" ") || strings.HasPrefix(change, "updateStrategy") ||
			!memcached.ChangesKind(change, string(memcached.WorkloadKind(v.Memcached)))
	})
	last := v.Last.Applied
	same := last != nil && last.TemplateHash == decided.TemplateHash
	if same && (!restarting && equality.Semantic.DeepEqual(last.Defaults, decided.Defaults) || len(changes) == 0) {
		return last.Changes
	}
	return changes
}
