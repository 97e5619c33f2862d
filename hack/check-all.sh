#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

# The one list of suites. With "core", each suite runs what every change must pass (.ci/run), otherwise all of it (make check-all). Two
# parts run at the same time: the suites that mostly compute, and the suites that mostly wait for a cluster. FROM=NAME begins with the
# suite NAME, and skips the other part. FROM="NAME NAME" begins with one suite in each part. ONLY=NAME runs one suite.
#
# One line tells the time of each suite, and bin/checks/NAME.log has its output. CHECK_OUTPUT=1 shows the output of every suite. A failed
# suite shows its output, and ends its part.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

checks=bin/checks
mkdir -p "${checks}"
: >"${checks}/passed"
from=${FROM:-}

# skipped NAME reports whether FROM or ONLY excludes a check. They never exclude the check "packages", which all other checks need.
skipped() {
	if [[ " ${from} " == *" $1 "* ]]; then from=""; fi
	if [[ "$1" == packages ]]; then return 1; fi
	[[ -n "${from}" || -n "${ONLY:-}" && "$1" != "${ONLY}" ]]
}

# check NAME COMMAND... runs a command and reports how it ended, unless it is skipped.
check() {
	if skipped "$1"; then return; fi
	local name=$1 start=${SECONDS} status=0
	shift
	if [[ -n "${CHECK_OUTPUT:-}" ]]; then
		"$@" </dev/null 2>&1 | tee "${checks}/${name}.log" || status=$?
	else
		"$@" </dev/null >"${checks}/${name}.log" 2>&1 || status=$?
	fi
	if [[ ${status} -eq 0 ]]; then
		printf '%-16s passed in %4d s: %s\n' "${name}" $((SECONDS - start)) "$*"
		echo "${name}" >>"${checks}/passed"
		return
	fi
	[[ -n "${CHECK_OUTPUT:-}" ]] || cat "${checks}/${name}.log"
	printf '%-16s FAILED in %4d s: %s (FROM=%s resumes here)\n' "${name}" $((SECONDS - start)) "$*" "${name}" >&2
	return "${status}"
}

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
passed=$(wc -l <"${checks}/passed")
if [[ ${passed} -le 1 ]]; then
	echo "FROM=${FROM:-} ONLY=${ONLY:-} selects no check." >&2
	exit 2
fi
[[ -n "${FROM:-}${ONLY:-}" ]] || echo "${SECONDS}" >"${checks}/seconds" # hack/weight.sh shows it
echo "All checks passed in ${SECONDS} s."
echo "${passed} passed, 0 failed"
