// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

// Config has the flags about credentials.
type Config struct {
	// TLSSecret is the folder of the Secret with the certificate, empty without TLS.
	TLSSecret string
	// TLS is the address on which memcached serves TLS.
	TLS string
	// ClientCA is true if clients need a certificate of a CA in the Secret.
	ClientCA bool
	// UsersSecret is the folder of the Secret with the users, empty without users.
	UsersSecret string
	// Folder is where memcached reads its files.
	Folder string
	// TerminationLog is the file of the container's termination message.
	TerminationLog string
	// Processes is the folder with the processes of the pod, /proc if it is empty.
	Processes string
}

// Enabled reports whether memcached has TLS or users.
func (c Config) Enabled() bool { return c.TLSSecret != "" || c.UsersSecret != "" }
