// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"slices"
	"strconv"
)

// InFile reports whether memcached keeps its items in a file.
func (l List) InFile() bool { return l.Value("-e") != "" }

// Keeps reports whether memcached keeps its items after a restart with another list. memcached compares -m and -I. It also compares
// other options, which the operator does not use.
func (l List) Keeps(next List) bool {
	return l.InFile() && next.InFile() && l.Value("-m") == next.Value("-m") && l.Value("-I") == next.Value("-I")
}

// Grows reports whether the other list has more memory and nothing else differs. memcached can take more memory while it runs,
// unless its items are in a file, whose size is fixed.
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
