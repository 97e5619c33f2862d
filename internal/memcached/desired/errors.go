// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

// InvalidError reports that a spec cannot be carried out. Only its author can fix it.
type InvalidError struct {
	// Reason is a reason of the Degraded condition.
	Reason string
	// Message names the field and the fix.
	Message string
}

// Error implements error.
func (e *InvalidError) Error() string { return e.Message }
