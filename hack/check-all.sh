#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

# The one list of suites. With "core", each suite runs what every change must pass (.ci/run), otherwise all of it (make check-all). Two
# parts run at the same time: the suites that mostly compute, and the suites that mostly wait for a cluster. FROM=NAME begins with the
# suite NAME, and skips the other part. FROM="NAME NAME" begins with one suite in each part. ONLY=NAME runs one suite.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source hack/checks.sh
faults=() specs=()
if [[ ${1:-} == core ]]; then
	faults=(FAULT_SCENARIOS="create|scale-up|scale-down|image-change|delete|statefulset-create|copies-create")
	specs=({E2E,OLM}_FLAGS=--ginkgo.label-filter=core)
fi

# The suites that compute have a lower priority than the cluster, whose probes and clients have deadlines.
computing() {
	renice -n 15 -p "${BASHPID}" >/dev/null
	check lint make lint
	check verify make verify
	check test make test
	check alerts make test-alerts
	check race make test-race
	check faults make test-faults "${faults[@]}"
	check counts make bench BENCH_FLAGS="-only requests"
	check chart make test-chart
	check simulated env SIMULATED=1 DEMO_EXIT=1 make demo
	if [[ ${#specs[@]} -gt 0 ]]; then return; fi
	check compatibility make test-compatibility
	check platforms make build-platforms
}

waiting() {
	check demo env DEMO_EXIT=1 make demo
	check olm make test-olm "${specs[@]}"
	check e2e make test-e2e "${specs[@]}"
}

autogroup=/proc/sys/kernel/sched_autogroup_enabled # while it is 1, Linux does not compare niceness across sessions
if [[ -w ${autogroup} ]]; then
	trap "echo $(<"${autogroup}") >${autogroup}" EXIT
	echo 0 >"${autogroup}"
fi
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
