# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Functions that run named checks, for .ci/run and hack/check-all.sh. They print one line with the time of each check, and write the
# check's output to bin/checks/NAME.log. A failed check shows its output, and ends the script (in check-all.sh, only its part).
#
#   check NAME COMMAND...     runs a check
#   finish                    says how many passed
#
# CHECK_OUTPUT=1 shows the output of every check. FROM=NAME skips the checks before NAME. ONLY=NAME skips all except NAME.
set -o errexit -o nounset -o pipefail

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

# run NAME COMMAND... runs a command and reports how it ended.
run() {
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

check() {
	if skipped "$1"; then return; fi
	run "$@"
}

finish() {
	local passed
	passed=$(wc -l <"${checks}/passed")
	if [[ ${passed} -le 1 ]]; then
		echo "FROM=${FROM:-} ONLY=${ONLY:-} selects no check." >&2
		exit 2
	fi
	echo "All checks passed in ${SECONDS} s."
	[[ -n "${FROM:-}${ONLY:-}" ]] || echo "${SECONDS}" >"${checks}/seconds" # hack/weight.sh shows it
	echo "${passed} passed, 0 failed"
}
