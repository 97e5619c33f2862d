#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

# Scores with kube-score (KUBE_SCORE) the operator's manifests, which KUSTOMIZE renders, and the objects that the operator creates.
# Every finding is an error unless kube-score.txt waives it with a reason. A waiver without a finding is an error, too.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
waivers=hack/security/kube-score.txt
rendered=$(mktemp -d)
trap 'rm -rf "${rendered}"' EXIT

# All optional parts of config/default are uncommented, to score their objects as well. They need no additional waivers.
cp -R config "${rendered}/all"
sed -i.orig 's/^#- /- /' "${rendered}/all/default/kustomization.yaml"
"${KUSTOMIZE}" build config/default >"${rendered}/default.yaml"
"${KUSTOMIZE}" build config/namespaced >"${rendered}/namespaced.yaml"
"${KUSTOMIZE}" build "${rendered}/all/default" >"${rendered}/optional.yaml"

# score WHAT [CHECK...] scores WHAT, which is operator or memcached, without these checks.
score() {
	local files=("${rendered}"/*.yaml) ignored=()
	[[ $1 == operator ]] || files=(internal/memcached/desired/testdata/*.golden.yaml)
	for check in "${@:2}"; do ignored+=(--ignore-test "${check}"); done
	# The script uses the output, because the exit code does not distinguish findings from errors of kube-score.
	{ "${KUBE_SCORE}" score --kubernetes-version v1.30 --output-format ci ${ignored[@]+"${ignored[@]}"} "${files[@]}" 2>&1 || true; } |
		{ grep -vE '^\[(OK|SKIPPED)\]' || true; }
}

failed=0
for what in operator memcached; do
	mapfile -t checks < <(awk -v what="${what}" '$1 == what { print $2 }' "${waivers}")
	findings=$(score "${what}" "${checks[@]}")
	if [[ -n ${findings} ]]; then
		printf '%s\n' "${findings}" >&2
		failed=1
	fi
	for check in "${checks[@]}"; do
		others=()
		for other in "${checks[@]}"; do [[ ${other} == "${check}" ]] || others+=("${other}"); done
		if [[ -z $(score "${what}" "${others[@]}") ]]; then
			echo "${waivers}: the waiver of ${check} for ${what} silences nothing: remove it." >&2
			failed=1
		fi
	done
	echo "kube-score: ${what}, ${#checks[@]} checks waived"
done
exit "${failed}"
