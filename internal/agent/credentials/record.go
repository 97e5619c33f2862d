// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import "slices"

// record is what the agent must remember about memcached in case the agent restarts.
type record struct {
	// Process is the memcached that the agent last found.
	Process Process `json:"process"`
	// Swapping is true while the agent replaces the current version. A memcached that starts meanwhile may read the old or the new version.
	Swapping bool `json:"swapping,omitempty"`
	// Pending is true while a reload is pending. A reload becomes pending when the current version changes, or when a check of what Process
	// has read fails. It stays pending until the agent has verified that Process has read the current version, or has found that Process was
	// replaced by a memcached that has read this version at its start.
	Pending bool `json:"pending,omitempty"`
	// Previous is the version before the current one, or empty if no reload is pending. memcached may still use the users of this version.
	Previous string `json:"previous,omitempty"`
	// Trusted are fingerprints of the CAs that Process may have read. For the limit of their number, see maxRemoved.
	Trusted []string `json:"trusted,omitempty"`
	// Logins are fingerprints of the users that Process may have read. Each covers the name and the password. Their number is also
	// limited by maxRemoved.
	Logins []string `json:"logins,omitempty"`
	// Algorithms are the key algorithms of all certificates that Process may have read. For each algorithm, Process serves the last
	// certificate.
	Algorithms []string `json:"kinds,omitempty"`
}

// add adds content that memcached has read or may read.
func (r *record) add(read *content) {
	if read == nil {
		return
	}
	r.Trusted = addLimited(r.Trusted, read.authorities)
	r.Logins = addLimited(r.Logins, read.logins())
	r.Algorithms = union(r.Algorithms, read.algorithms())
}

// restartRequired reports for each reason whether memcached must restart. current is the content that memcached should use.
func (r *record) restartRequired(current *content) map[string]bool {
	lacks := func(read, current []string) bool {
		return slices.ContainsFunc(read, func(one string) bool { return !slices.Contains(current, one) })
	}
	if current == nil {
		return map[string]bool{ReasonCARemoved: false, ReasonCertificateRemoved: false, ReasonUserRemoved: false}
	}
	return map[string]bool{
		ReasonCARemoved:          lacks(r.Trusted, current.authorities),
		ReasonCertificateRemoved: lacks(r.Algorithms, current.algorithms()),
		ReasonUserRemoved:        lacks(r.Logins, current.logins()),
	}
}

// maxRemoved limits the fingerprints of removed CAs and of removed users, so that the record and two versions fit on the volume, however
// often a Secret changes.
const maxRemoved = 500

// many is the text that replaces the earlier fingerprints when there are too many of them. It is never a fingerprint of the current
// content, so a restart stays required.
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
