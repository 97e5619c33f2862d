// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

// Reasons of an InvalidError. The condition Degraded uses the same reasons.
const (
	ReasonInvalidCertificate = "InvalidCertificate"
	ReasonInvalidCredentials = "InvalidCredentials"
)

// InvalidError is why the content of a Secret cannot be used. The message may contain keys of the Secret, but no values.
type InvalidError struct{ Reason, Message string }

// Error returns the text that the agent writes as its termination message.
func (e *InvalidError) Error() string { return e.Reason + ": " + e.Message }

func invalidCertificate(message string) error {
	return &InvalidError{Reason: ReasonInvalidCertificate, Message: message}
}

func invalidUsers(message string) error {
	return &InvalidError{Reason: ReasonInvalidCredentials, Message: message}
}
