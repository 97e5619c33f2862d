// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package credentials loads what Secrets hold into a memcached that runs, and verifies that memcached uses it: the certificate and key
// that it serves, the CAs whose clients it admits, and its users.
//
// # Life of a Secret's content
//
// The kubelet swaps the files of a Secret. The agent alone mounts them. It validates them, because memcached would not: a pair that
// does not match refuses every new connection, and a user file with a blank line is ignored without a word. Then it writes them as
// a new generation into a volume that memcached reads, and swaps the link named current. So a pair changes at once, and memcached
// restarts with the last good content even while a Secret is broken. It sends SIGHUP, and proves the result: the certificate that a
// handshake shows, the time at which memcached says it read the files, a login of each user, and a refused login of each user
// that is gone.
//
// # What memcached cannot do
//
// A removed CA stays trusted, and connections of a removed user stay open, until memcached starts anew. The state remembers which
// CAs and users a process has read since it started, so the agent reports that a restart is required, and when it is no longer.
//
// # Restarts
//
// If its options say so, the agent ends memcached then, and the kubelet starts it again in the same pod. It does so after memcached
// has proven that it can read the current generation, and one node at a time: from the last node of the list to the first, each
// after the agent of the next one says that it is done with the same content. A node with nothing to forget waits for its turn too before
// it says so. A node that gets no such answer restarts after a time that is longer for each node after it.
//
// # Crashes
//
// The agent may be killed between any two steps. Each step is one rename, and the state is written before the step whose loss would
// be wrong: a swap or a signal that happens twice is harmless. Which files a memcached has read that starts during a swap cannot be
// known; it counts as one that has read both generations, and is signaled.
package credentials
