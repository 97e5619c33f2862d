#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Copies the Helm chart to a folder, in place of a chart in it, with VERSION and the images IMG, AGENT_IMG and MEMCACHED_IMAGE, and lints
# the copy with HELM: hack/helm/chart.sh FOLDER
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=$1
if [[ -e "${out}" && ! -f "${out}/Chart.yaml" || "${out}" -ef charts/memcached-operator ]]; then
	echo "${out} exists, but is no copy of the chart that could be replaced: choose another folder." >&2
	exit 2
fi

image=${IMG%@*} digest='' tag=''
if [[ "${IMG}" == *@* ]]; then digest=${IMG##*@}; fi
# A colon before the last slash belongs to a port.
if [[ "${image##*/}" == *:* ]]; then tag=${image##*:} image=${image%:*}; fi
rm -rf "${out}"
mkdir -p "$(dirname "${out}")"
cp -R charts/memcached-operator "${out}"
sed -i -e "s|^  repository: .*|  repository: ${image}|" -e "s|^  tag: .*|  tag: \"${tag}\"|" -e "s|^  digest: .*|  digest: \"${digest}\"|" \
	-e "s|^agentImage: .*|agentImage: ${AGENT_IMG}|" -e "s|^memcachedImage: .*|memcachedImage: ${MEMCACHED_IMAGE}|" "${out}/values.yaml"
sed -i -e "s|^version: .*|version: ${VERSION}|" -e "s|^appVersion: .*|appVersion: v${VERSION}|" "${out}/Chart.yaml"
"${HELM}" lint --strict "${out}"
echo "${out} contains the Helm chart memcached-operator ${VERSION}, which installs ${IMG}."
