#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

# Prints how heavy the project is, and fails if a number is above its limit in hack/weight.limits. A change that lowers a number lowers
# its limit as well; no change raises one. With the argument "packages", it prints the lines of each folder instead.
#
# A line is a line of a tracked file, comments and blank lines included. Generated Go (zz_generated*) does not count.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tracked() { git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do [[ ! -f ${file} ]] || echo "${file}"; done; }
lines() { xargs --no-run-if-empty cat | wc -l; }

product() {
	tracked 'api/*.go' 'controllers/*.go' 'internal/*.go' 'cmd/*.go' main.go | grep --invert-match --regexp='_test\.go$' --regexp='zz_generated'
	tracked 'internal/*.lua'
}

# Everything else that somebody must maintain as code: tests, the harness, scripts, make files, templates.
harness() {
	comm -13 <(product | sort) <(tracked '*.go' '*.lua' '*.sh' '*.py' '*.tmpl' '*.tpl' '*.mk' Makefile .ci/run '*Dockerfile' 'charts/*/templates/*' |
		grep --invert-match 'zz_generated' | sort)
}

words() {
	tracked 'docs/*.md' README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md | grep --invert-match --line-regexp docs/api.md |
		xargs cat | wc --words
}

# by_folder prints the lines of the listed files by their first two folders.
by_folder() {
	xargs wc -l | awk '$2 != "total" { n = split($2, part, "/"); folder = n > 2 ? part[1] "/" part[2] : n > 1 ? part[1] : "."
		lines[folder] += $1; total += $1 } END { for (f in lines) printf "%7d %s\n", lines[f], f; printf "%7d total\n", total }' | sort --key=2
}

if [[ ${1:-} == packages ]]; then
	echo "Product:" && product | by_folder
	echo "Tests and harness:" && harness | by_folder
	exit
fi

declare -A now=(
	[product]=$(product | lines)
	[harness]=$(harness | lines)
	[words]=$(words)
	[targets]=$(tracked Makefile '*.mk' | xargs cat | grep --count --extended-regexp '^[a-zA-Z_0-9-]+:.*##')
	[golangci]=$(wc -l <.golangci.yml)
)
declare -A what=(
	[product]="lines of product: api, controllers, internal, cmd, main.go; Go and Lua"
	[harness]="lines of tests and harness: all other Go, shell, make, templates"
	[words]="words of docs, README, CONTRIBUTING, SECURITY, CHANGELOG, without docs/api.md"
	[targets]="make targets with help"
	[golangci]="lines of .golangci.yml"
)
status=0
while read -r name limit; do
	printf '%8d of %8d  %s\n' "${now[${name}]}" "${limit}" "${what[${name}]}"
	if ((now[${name}] > limit)); then
		echo "${name} is above its limit in hack/weight.limits: remove as much as you add." >&2
		status=1
	fi
done <hack/weight.limits
if [[ -f bin/checks/seconds ]]; then
	printf '%8d            minutes of the last run of .ci/run or make check-all here\n' $((($(<bin/checks/seconds) + 59) / 60))
fi
exit "${status}"
