// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"slices"
	"strconv"
	"strings"
)

// InFile reports whether memcached keeps its items in a file (-e).
func (l List) InFile() bool { return l.Value("-e") != "" }

// Keeps reports whether memcached keeps its items after a restart with next. It does if both lists name a file, and have the same -m and
// -I. memcached also compares other options, which the operator never changes.
func (l List) Keeps(next List) bool {
	return l.InFile() && next.InFile() && l.Value("-m") == next.Value("-m") && l.Value("-I") == next.Value("-I")
}

// Same reports whether memcached need not change to run with next.
func (l List) Same(next List) bool { return l.Arguments == next.Arguments && l.Restart == next.Restart }

// Grows reports whether next differs only by more memory (-m), and memcached can get this memory without a restart. Items in a file
// always need a restart, because the size of the file is fixed.
func (l List) Grows(next List) bool {
	less, lessErr := strconv.Atoi(l.Value("-m"))
	more, moreErr := strconv.Atoi(next.Value("-m"))
	if l.InFile() || l.Restart != next.Restart || lessErr != nil || moreErr != nil || less >= more {
		return false
	}
	same := l.Fields()
	same[slices.Index(same, "-m")+1] = next.Value("-m")
	return strings.Join(same, " ") == next.Arguments
}
