// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import "slices"

// record is what an agent must know about memcached after a restart of its own.
type record struct {
	// Process is the memcached that the agent saw last.
	Process Process `json:"process"`
	// Swapping is true during a swap: a memcached that starts meanwhile may have read either version.
	Swapping bool `json:"swapping,omitempty"`
	// Pending is true until Process is verified to have read the current version.
	Pending bool `json:"pending,omitempty"`
	// Previous is the version before the current one while a reload is pending: memcached may still have its users.
	Previous string `json:"previous,omitempty"`
	// Trusted are the fingerprints of all CAs, and Logins those of all users with their passwords, that Process has read.
	Trusted []string `json:"trusted,omitempty"`
	Logins  []string `json:"logins,omitempty"`
	// Algorithms are those of the keys of all certificates that it has read: it serves the last certificate of each.
	Algorithms []string `json:"kinds,omitempty"`
}

// add adds what memcached reads, or may read.
func (r *record) add(read *content) {
	if read == nil {
		return
	}
	r.Trusted = addLimited(r.Trusted, read.authorities)
	r.Logins = addLimited(r.Logins, read.logins())
	if read.certificate != nil {
		r.Algorithms = union(r.Algorithms, []string{read.algorithm()})
	}
}

// restartRequired reports for each reason whether memcached must be restarted. Current is what it should use.
func (r *record) restartRequired(current *content) map[string]bool {
	lacks := func(read, current []string) bool {
		return slices.ContainsFunc(read, func(one string) bool { return !slices.Contains(current, one) })
	}
	if current == nil {
		return map[string]bool{ReasonCARemoved: false, ReasonUserRemoved: false}
	}
	return map[string]bool{
		ReasonCARemoved:   lacks(r.Trusted, current.authorities),
		ReasonUserRemoved: lacks(r.Logins, current.logins()),
	}
}

// maxRemoved limits the fingerprints of removed CAs and of removed users, so that the volume has room for two versions however often
// a Secret changes.
const maxRemoved = 500

// many stands for the fingerprints beyond the limit. No content has it, so a restart stays required.
const many = "many"

func addLimited(before, added []string) []string {
	if all := union(before, added); len(all) <= maxRemoved+len(added) {
		return all
	}
	return union(added, []string{many})
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
