#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

# Runs all suites except those with a nightly job of their own: the benchmark, the endurance test, the mutations and the hostile
# clients. Two parts run at the same time: the suites that mostly compute, and the suites that mostly wait for a cluster. FROM=NAME
# begins with the suite NAME, and skips the other part. FROM="NAME NAME" begins with one suite in each part.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source hack/checks.sh

# The suites that compute have a lower priority than the cluster, whose probes and clients have deadlines.
computing() {
	renice -n 15 -p "${BASHPID}" >/dev/null
	check lint make lint
	check verify make verify
	check test make test
	check alerts make test-alerts
	check race make test-race
	check compatibility make test-compatibility
	check faults make test-faults
	check counts make bench-short
	check platforms make build-platforms
	check rehearsal make release-rehearsal
}

waiting() {
	check e2e make test-e2e
	check olm make test-olm
	if missing=$(hack/cluster/olmv1.sh check 2>&1); then
		check olm-v1 make test-olm-v1
	else
		printf '%-16s NOT RUN: %s\n' olm-v1 "${missing}"
	fi
	check demo env DEMO_EXIT=1 make demo
	check demo-simulated env DEMO_EXIT=1 DEMO_NODES=simulated make demo
}

check packages hack/cluster/packages.sh install
set -o monitor # each part is a process group
waiting &
waits=$!
computing &
set +o monitor
trap 'kill -TERM -- "-$!" "-${waits}" 2>/dev/null || true' INT TERM
status=0
wait $! || status=$?
wait "${waits}" || status=$?
[[ ${status} -eq 0 ]] || exit "${status}"
finish
