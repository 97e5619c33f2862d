// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// argumentList returns the argument list that the spec asks for.
func argumentList(mc *cachev1alpha1.Memcached) protocol.List {
	list := protocol.List{Arguments: args(mc)}
	if restarted := restartedAt(mc); restarted != nil {
		list.RestartedAt = restarted.UTC().Format(time.RFC3339)
	}
	return list
}

func argumentsConfigMap(mc *cachev1alpha1.Memcached, data map[string]string) *corev1.ConfigMap {
	return role(mc).ConfigMap(memcached.ArgumentsSuffix, data)
}

// asTheyAre returns the ConfigMap with the arguments that the cluster has now, without additions by others. It returns nil if there
// are none.
func asTheyAre(v memcached.View) *corev1.ConfigMap {
	if data := v.Arguments().Data(); len(data) > 0 {
		return argumentsConfigMap(v.Memcached, data)
	}
	return nil
}

// wanted is what the spec asks of the nodes of a StatefulSet.
type wanted struct {
	// list is the argument list. section is the hash of the pod template whose nodes run this list.
	list    protocol.List
	section string
	// inPlace is the change of existing pods to that template.
	inPlace *inPlace
	// problem is why the spec cannot be carried out, or nil.
	problem *memcached.Problem
}

// arguments decides which argument list each node of a StatefulSet runs. It returns a problem if a node refuses its list.
func arguments(v memcached.View, want wanted, guard *twinGuard) (memcached.Wave, *memcached.Problem) {
	if want.problem != nil {
		return memcached.Wave{Arguments: asTheyAre(v)}, nil
	}
	live := v.Arguments()
	w := newWave(v, want, live, guard)
	w.decide()
	problem := w.refusal()
	if kept := asTheyAre(v); problem != nil || v.Memcached.Spec.Paused && kept != nil {
		w.Arguments = kept
		return w.Wave, problem
	}
	next := memcached.Arguments{Lists: live.Lists, Sections: w.keptSections(live), Twin: twinOf(v)}
	next.Lists[want.list.Hash()] = want.list
	next.Sections[want.section] = protocol.Section{Default: w.def, Nodes: w.entries}
	w.addEarlier(next.Sections, want.section)
	dropUnused(next)
	w.Arguments = argumentsConfigMap(v.Memcached, next.Data())
	return w.Wave, nil
}

// addEarlier adds a section for each earlier template from which an existing pod was created. After a change in place, the pod's
// launcher still reads that section. present is the hash of the new template.
func (w *wave) addEarlier(sections map[string]protocol.Section, present string) {
	earlier := map[string]protocol.Section{}
	for _, node := range w.nodes {
		if node.section == present {
			continue
		}
		if _, ok := earlier[node.section]; !ok {
			earlier[node.section] = protocol.Section{Default: w.def, Nodes: map[int]string{}}
		}
		if hash, ok := w.entries[node.ordinal]; ok {
			earlier[node.section].Nodes[node.ordinal] = hash
		}
	}
	maps.Copy(sections, earlier)
}

// keptSections returns the sections in the cluster that pods may still read. During a rollout, these are all sections. Otherwise, they
// are the sections for the template of the StatefulSet and for the templates from which existing pods were created.
func (w *wave) keptSections(live memcached.Arguments) map[string]protocol.Section {
	used := map[string]bool{}
	if w.v.Workload != nil {
		used[w.v.Workload.Template.Annotations[memcached.TemplateAnnotation]] = true
	}
	for i := range w.v.Pods {
		used[memcached.SectionOf(&w.v.Pods[i])] = true
	}
	kept := map[string]protocol.Section{}
	for template, section := range live.Sections {
		if used[template] || w.v.Workload.RollingOut() {
			kept[template] = section
		}
	}
	return kept
}

// dropUnused removes the argument lists to which no section refers.
func dropUnused(a memcached.Arguments) {
	used := map[string]bool{}
	for _, section := range a.Sections {
		used[section.Default] = true
		for _, hash := range section.Nodes {
			used[hash] = true
		}
	}
	for hash := range a.Lists {
		if !used[hash] {
			delete(a.Lists, hash)
		}
	}
}
