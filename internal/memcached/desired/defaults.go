// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// podDefaults are settings of the pods that the operator chooses because the spec leaves them open. Another version of the operator
// may choose other values.
type podDefaults = cachev1alpha1.MemcachedDefaults

// recordedDefault describes one of the podDefaults, which status.lastApplied records. To add one, add a field to MemcachedDefaults
// and a row to recordedDefaults.
type recordedDefault struct {
	// open reports whether the pods need the value and the spec does not set it.
	open func(*cachev1alpha1.Memcached) bool
	// present returns the value that this version of the operator chooses for new pods.
	present func(*cachev1alpha1.Memcached, memcached.Options) string
	get     func(podDefaults) string
	set     func(*podDefaults, string)
	// valid reports whether running nodes can keep the recorded value, which is empty if none was recorded. The operator never records
	// an invalid value.
	valid func(*cachev1alpha1.Memcached, string) bool
	// newer describes the value that the next rollout would adopt instead of the recorded one, or returns "". newer is nil if no new value is
	// worth a rollout, which empties the nodes.
	newer func(mc *cachev1alpha1.Memcached, recorded string, opts memcached.Options) string
}

var recordedDefaults = []recordedDefault{
	recordedImage(recordedDefault{
		open:    func(mc *cachev1alpha1.Memcached) bool { return mc.Spec.Image == "" },
		present: func(_ *cachev1alpha1.Memcached, opts memcached.Options) string { return opts.DefaultImage },
	}, memcached.ContainerName, "the image "),
	recordedImage(recordedDefault{
		open:    memcached.IsStatefulSet,
		present: func(_ *cachev1alpha1.Memcached, opts memcached.Options) string { return opts.AgentImage },
	}, memcached.AgentContainerName, "the agent "),
	{
		open: func(mc *cachev1alpha1.Memcached) bool {
			_, given := render.MemoryLimit(mc.Spec.Resources)
			return !given
		},
		present: func(mc *cachev1alpha1.Memcached, _ memcached.Options) string {
			return resource.NewQuantity(sizingOf(mc).limit(), resource.BinarySI).String()
		},
		get: func(d podDefaults) string { return d.MemoryLimit },
		set: func(d *podDefaults, limit string) { d.MemoryLimit = limit },
		valid: func(mc *cachev1alpha1.Memcached, recorded string) bool {
			limit, err := resource.ParseQuantity(recorded)
			return err == nil && limit.Value() > sizingOf(mc).memory
		},
		newer: func(mc *cachev1alpha1.Memcached, recorded string, _ memcached.Options) string {
			limit, err := resource.ParseQuantity(recorded)
			s := sizingOf(mc)
			if err != nil || s.check(limit) == nil {
				return ""
			}
			return fmt.Sprintf("a memory limit of %dMi", s.limit()/mebibyte)
		},
	},
	{
		open: func(mc *cachev1alpha1.Memcached) bool {
			return mc.Spec.Config.IdleTimeout == nil && (mc.Spec.TLS != nil || mc.Spec.Auth != nil)
		},
		present: func(*cachev1alpha1.Memcached, memcached.Options) string { return defaultIdleTimeout },
		get:     func(d podDefaults) string { return d.IdleTimeout },
		set:     func(d *podDefaults, timeout string) { d.IdleTimeout = timeout },
		// Nodes from before this default have no recorded value, and no timeout.
		valid: func(_ *cachev1alpha1.Memcached, recorded string) bool {
			timeout, err := time.ParseDuration(recorded)
			return recorded == "" || err == nil && timeout >= time.Second
		},
	},
}

// recordedImage completes a row whose value is the image of a container: it sets newer, get, set and valid. newer describes an image by its
// name after the argument words, such as "the image ".
func recordedImage(row recordedDefault, container, words string) recordedDefault {
	row.newer = func(mc *cachev1alpha1.Memcached, recorded string, opts memcached.Options) string {
		if present := row.present(mc, opts); present != "" && recorded != present {
			return words + present
		}
		return ""
	}
	row.get = func(d podDefaults) string { return string(d.Images[container]) }
	row.set = func(d *podDefaults, image string) {
		if d.Images == nil {
			d.Images = map[string]cachev1alpha1.DefaultImage{}
		}
		d.Images[container] = cachev1alpha1.DefaultImage(image)
	}
	row.valid = func(_ *cachev1alpha1.Memcached, recorded string) bool { return recorded != "" }
	return row
}

// decideDefaults returns the defaults for the pods. Running pods keep their defaults, so an upgrade of the operator alone replaces no
// pods. If a user's change or "kubectl rollout restart" requires new pods, these get the current defaults. If the spec is taken back
// during a rollout, the defaults from before the rollout apply again. changed reports that the spec gives the nodes another pod
// template or other arguments than recorded.
func decideDefaults(v memcached.View, opts memcached.Options, templateHash string) (_ podDefaults, changed bool) {
	mc := v.Memcached
	recorded, found := v.LastApplied(templateHash)
	if former := takenBackTo(v, templateHash); former != nil {
		recorded, found = former.Defaults, true
	}
	restarts := found && restartsInPlace(v, recorded)
	replaced := replacedByHand(v) || restarts && outgrown(mc, recorded)
	var defaults podDefaults
	for _, row := range recordedDefaults {
		if !row.open(mc) {
			continue
		}
		value := row.present(mc, opts)
		if kept := row.get(recorded); found && !replaced && row.valid(mc, kept) {
			value = kept
		}
		row.set(&defaults, value)
	}
	return defaults, !found || restarts
}

// takenBackTo returns the record from before the current rollout if the spec again asks for what that record describes, and nil
// otherwise. With that record, the nodes that the rollout has not reached stay as they are.
func takenBackTo(v memcached.View, templateHash string) *cachev1alpha1.MemcachedFormerRecord {
	last := v.Last.Applied
	if last == nil || last.Former == nil || last.Former.TemplateHash != templateHash {
		return nil
	}
	asks := func(defaults podDefaults, arguments string) bool {
		return !memcached.IsStatefulSet(v.Memcached) || argumentList(v.Memcached, defaults).Hash() == arguments
	}
	if last.TemplateHash == templateHash && asks(last.Defaults, last.ArgumentsHash) || !asks(last.Former.Defaults, last.Former.ArgumentsHash) {
		return nil
	}
	return last.Former
}

// restartsInPlace reports whether launchers restart memcached, because the spec and the recorded defaults result in other arguments than
// the recorded ones. No arguments are recorded until all nodes run the same ones. Until then, restartsInPlace compares with the lists in
// the ConfigMap. The memory limit was checked for these lists before they were written.
func restartsInPlace(v memcached.View, recorded podDefaults) bool {
	if !memcached.IsStatefulSet(v.Memcached) {
		return false
	}
	hash := argumentList(v.Memcached, recorded).Hash()
	if last := v.Last.Applied; last != nil && last.ArgumentsHash != "" {
		return last.ArgumentsHash != hash
	}
	if v.Workload == nil {
		return false
	}
	section, found := v.Arguments().Sections[v.Workload.Template.Annotations[memcached.TemplateAnnotation]]
	return found && hash != section.Default && !slices.Contains(slices.Collect(maps.Values(section.Nodes)), hash)
}

// replacedByHand reports whether somebody has run "kubectl rollout restart" since the last record.
func replacedByHand(v memcached.View) bool {
	last := v.Last.Applied
	return last != nil && last.RolloutRestartedAt != rolloutRestartedAt(v)
}

// outgrown reports whether memcached needs more memory than the recorded limit allows. It is false if the spec sets the limit.
func outgrown(mc *cachev1alpha1.Memcached, recorded podDefaults) bool {
	limit, err := resource.ParseQuantity(recorded.MemoryLimit)
	_, given := render.MemoryLimit(mc.Spec.Resources)
	return !given && (err != nil || sizingOf(mc).check(limit) != nil)
}

// staleDefaults describes the newer defaults that the next rollout would adopt, or returns "".
func staleDefaults(mc *cachev1alpha1.Memcached, defaults podDefaults, opts memcached.Options) string {
	var stale []string
	for _, row := range recordedDefaults {
		if row.newer == nil || !row.open(mc) {
			continue
		}
		if newer := row.newer(mc, row.get(defaults), opts); newer != "" {
			stale = append(stale, newer)
		}
	}
	return strings.Join(stale, " and ")
}

// encode returns a value as JSON. It panics if the value cannot be encoded.
func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", value, err))
	}
	return string(text)
}
