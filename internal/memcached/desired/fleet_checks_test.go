// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// want returns the argument list that nodes must run according to the plan.
func (f *fleet) want(plan memcached.Plan) protocol.List {
	mc := f.mc.DeepCopy()
	mc.Spec.RestartedAt = plan.Record.RestartedAt
	return argumentList(mc)
}

// entries returns the valid entries in a section of the ConfigMap: the hash of a list for each node number.
func (f *fleet) entries(section string) map[int]string {
	view := memcachedtest.View(f.mc, memcached.Observed{Children: memcachedtest.Children(f.config)})
	return view.Arguments().Sections[section].Nodes
}

// checkRest checks a cache without a change in progress. Each pod must match the template and run the wanted argument list. The
// operator must ask no node, and must not want to change any object.
func (f *fleet) checkRest() {
	f.t.Helper()
	want, section := f.want(f.plan), sectionOf(f.updated)
	for ordinal, node := range f.nodes {
		pod := node.pod(f.mc)
		if node.list.String() != want.String() || pod.Annotations[memcached.TemplateAnnotation] != section {
			f.fail("%d runs %q of %s, not %q of %s", ordinal, node.list, pod.Annotations, want, section)
		}
		if node.files[protocol.SectionKey(sectionOf(node.template))] == "" {
			f.fail("%d has no section %s", ordinal, sectionOf(node.template))
		}
		f.checkPod(&pod)
	}
	data := memcached.Arguments{
		Lists:    map[string]protocol.List{want.Hash(): want},
		Sections: map[string]protocol.Section{section: {Default: want.Hash(), Nodes: map[int]string{}}},
	}
	for ordinal := range int(f.mc.Spec.Size) {
		data.Sections[section].Nodes[ordinal] = want.Hash()
	}
	for ordinal, node := range f.nodes {
		if earlier := sectionOf(node.template); earlier != section {
			if data.Sections[earlier].Nodes == nil {
				data.Sections[earlier] = protocol.Section{Default: want.Hash(), Nodes: map[int]string{}}
			}
			data.Sections[earlier].Nodes[ordinal] = want.Hash()
		}
	}
	if !maps.Equal(f.config.Data, data.Data()) || f.mc.Status.LastApplied.ArgumentsHash != want.Hash() {
		f.fail("the ConfigMap has %v, want %v; the status %+v", f.config.Data, data.Data(), f.mc.Status.LastApplied)
	}
	view := memcachedtest.View(f.mc, f.observed())
	again := For(view, f.opts)
	if len(again.Wave.Ask) != 0 || again.Wave.Open || encode(again.Objects) != encode(f.plan.Objects) || again.Problem != nil {
		f.fail("at rest, %d nodes are asked, or the plan changes from %s to %s", len(again.Wave.Ask), encode(f.plan), encode(again))
	}
}

// checkMoves checks the entries before the ConfigMap is written. Only nodes that have answered or are not ready may get the new list, and
// the operator never takes it back. A serving node may get the list only if no rollout is replacing pods, and at most maxUnavailable nodes
// (or 1, if maxUnavailable rounds down to 0) are away afterwards.
func (f *fleet) checkMoves(view memcached.View, plan memcached.Plan) {
	f.t.Helper()
	section, want := sectionOf(&plan.Workload().(*appsv1.StatefulSet).Spec.Template), f.want(plan).Hash()
	moved, away := 0, int(f.mc.Spec.Size)
	for ordinal, node := range f.nodes {
		stays := plan.InPlace.Open || node.pod(f.mc).Annotations[memcached.TemplateAnnotation] == section
		if ordinal >= int(f.mc.Spec.Size) || !stays {
			continue
		}
		parsed, err := protocol.ParseSection(plan.Wave.Arguments.Data[protocol.SectionKey(sectionOf(node.template))])
		if err != nil {
			f.fail("%v", err)
		}
		before, entry := f.entries(sectionOf(node.template)), parsed.Nodes[ordinal]
		if node.serves() && (entry == "" || node.list.Hash() == entry) {
			away--
		}
		if entry == before[ordinal] {
			continue
		}
		if before[ordinal] == want {
			f.fail("the entry of %d moves back to %s", ordinal, entry)
		}
		if answer, answered := view.Answers[node.uid]; node.ready() && (!answered || answer.Failure != "") {
			f.fail("the entry of %d moves from %s to %s, and nobody asked", ordinal, before[ordinal], entry)
		}
		if node.serves() && node.list.Hash() == before[ordinal] && entry != node.list.Hash() {
			moved++
		}
	}
	_, limit := updateLimits(f.mc)
	most, err := intstr.GetScaledValueFromIntOrPercent(&limit, int(f.mc.Spec.Size), false)
	if err != nil {
		f.fail("%v", err)
	}
	if moved > 0 && away > max(most, 1) && !f.tampered {
		f.fail("%d nodes are away after %d have moved, at most %d", away, moved, max(most, 1))
	}
	if moved > 0 && !plan.InPlace.Open && (sectionOf(f.current) != sectionOf(f.updated) || f.set.Generation > f.set.Status.ObservedGeneration) {
		f.fail("a step during a rollout")
	}
}
