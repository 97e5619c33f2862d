// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

// partition is from which number on the controller of a StatefulSet replaces pods that are not made from the template. With the size it
// replaces none: pods that change in place are not to leave. With 0, it replaces all of them.
func partition(size int32, inPlace bool) int32 {
	if inPlace {
		return size
	}
	return 0
}
