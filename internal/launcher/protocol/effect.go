// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"slices"
	"strconv"
)

// InFile reports whether memcached keeps its items in a file with a list.
func (l List) InFile() bool { return l.Value("-e") != "" }

// Keeps reports whether memcached would find its items after a restart with another list: it compares these options, and the operator
// gives none of the others that it compares.
func (l List) Keeps(next List) bool {
	return l.InFile() && next.InFile() && l.Value("-m") == next.Value("-m") && l.Value("-I") == next.Value("-I")
}

// Grows reports whether another list only has more memory, which memcached can be given while it runs. Not if it keeps its items in a
// file, which has its size from the start.
func (l List) Grows(next List) bool {
	if l.InFile() || len(l.Arguments) != len(next.Arguments) || l.RestartedAt != next.RestartedAt {
		return false
	}
	less, lessErr := strconv.Atoi(l.Value("-m"))
	more, moreErr := strconv.Atoi(next.Value("-m"))
	if lessErr != nil || moreErr != nil || less >= more {
		return false
	}
	same := slices.Clone(l.Arguments)
	same[slices.Index(same, "-m")+1] = next.Value("-m")
	return slices.Equal(same, next.Arguments)
}
