// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

// Config holds the flags about credentials.
type Config struct {
	// TLSSecret is the directory of the Secret with the certificate, empty without TLS.
	TLSSecret string
	// TLS is the address on which memcached serves TLS.
	TLS string
	// ClientCA is true if clients need a certificate from a CA in ca.crt of TLSSecret.
	ClientCA bool
	// UsersSecret is the directory of the Secret with the users, empty without users.
	UsersSecret string
	// Folder is the directory from which memcached reads its files.
	Folder string
	// TerminationLog is the file of the container's termination message.
	TerminationLog string
	// Processes is the directory in which the agent looks for memcached's process. Empty means /proc. Tests use a similar directory.
	Processes string
}

// Enabled reports whether memcached has TLS or users.
func (c Config) Enabled() bool { return c.TLSSecret != "" || c.UsersSecret != "" }
