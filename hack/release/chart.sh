#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Packages the chart in CHART_DIR, pushes it to CHART_REPOSITORY with HELM, and signs it by its digest. make chart-push calls this
# script. HELM_PUSH_FLAGS are further flags, such as --plain-http.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

[[ "${CHART_REPOSITORY}" =~ ^oci://[a-z0-9.:-]+(/[a-z0-9._-]+)*$ ]] || {
	echo "CHART_REPOSITORY is '${CHART_REPOSITORY}', but must be a place in a registry, such as oci://registry.example.com/charts." >&2
	exit 2
}
work=$(mktemp -d)
trap 'rm -rf "${work}"' EXIT
"${HELM}" package "${CHART_DIR}" --destination "${work}"
read -ra flags <<<"${HELM_PUSH_FLAGS:-}"
"${HELM}" push ${flags[@]+"${flags[@]}"} "${work}/memcached-operator-${VERSION}.tgz" "${CHART_REPOSITORY}" 2>&1 | tee "${work}/log"
digest=$(grep -om1 'sha256:[0-9a-f]\{64\}' "${work}/log")
hack/release/sign.sh "${CHART_REPOSITORY#oci://}/memcached-operator@${digest}"
