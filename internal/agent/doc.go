// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package agent runs beside memcached in each pod: it serves memcached's statistics as Prometheus series, reports whether
// memcached answers, and keeps its certificate and users at what Secrets hold (see package credentials). It has no access to the
// API server, and restarts memcached only to make it forget who was removed from a Secret, if its options say so.
//
// # Interface
//
// An upgrade of the operator replaces no pod, so an agent may have to work for a newer operator. Its interface therefore has a
// version, which the series memcached_agent_build_info shows. Version 1 is:
//
//   - the flags --memcached, --listen and --timeout, with the defaults in [Options]. An unknown flag is an error: a newer
//     operator passes a flag of a later version only to an agent whose image it has chosen itself;
//   - GET /metrics: the series of prometheus/memcached_exporter, of the agent (memcached_agent_*) and of its process;
//   - GET /readyz: 200 if memcached answers, else 503 with the reason in one line, within the timeout;
//   - GET /livez: 200 while the agent itself works, whatever memcached does;
//   - SIGTERM ends it with exit code 0. Exit code 2 means wrong flags, 1 anything else.
//
// Version 2 adds:
//
//   - the flags --tls-secret, --tls, --client-ca, --users-secret, --credentials and --termination-log;
//   - GET /startupz: 200 when memcached may start, else 503 with what is waited for. Without credentials it is always 200;
//   - the files in the folder of --credentials that memcached reads: current/tls.crt, current/tls.key, current/ca.crt and
//     current/users. All other names in it are the agent's own;
//   - exit code 1 with a termination message "InvalidCertificate: ..." or "InvalidCredentials: ...", once for each problem with
//     which memcached cannot start.
//
// Version 3 adds:
//
//   - the flags --restart-for-authorities, --restart-for-users and --servers;
//   - GET /revocation, by which agents of the same version or a later one tell each other that they are done: see
//     [credentials.RevocationPath];
//   - SIGTERM to memcached, whose container then has a termination message "Revocation: ...".
//
// A later version may add to this list, but changes and removes nothing of it.
//
// # Connections to memcached
//
// A probe opens a connection, as a client would, asks for the version and keeps the connection in place of the one before. So
// every probe proves that memcached accepts connections, the probes visit all worker threads in turn, and the agent always
// holds a connection that is seconds old. Scrapes use that one. It reserves one of memcached's connections for the agent: when
// clients have used up the others, the node can still be seen, which is when its statistics matter most. memcached refuses the
// probe's connection then; that is an answer, so the node stays ready: it serves the clients that it has, and without it the
// other nodes would get them as well. While it refuses, the probe asks over the connection that the agent holds, so that
// memcached's idle timeout does not close it. If the agent starts when there is no connection left, memcached_up is 0 and
// memcached_agent_read_failures_total{reason="connection_limit"} rises until a client closes one.
package agent
