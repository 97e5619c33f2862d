#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Unpacks Prometheus from its Debian package to bin/prometheus, for the end-to-end test of the monitoring. Installing the package
# would start Prometheus as a service of this machine, and compiling it would take minutes.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

source hack/cluster/debian.sh
stamp=bin/.prometheus.stamp
fingerprint=$(cat "$0" hack/cluster/debian.sh | cksum)
if [[ -x bin/prometheus && "$(cat "${stamp}" 2>/dev/null)" == "${fingerprint}" ]]; then
	exit
fi
tmp=$(mktemp -d)
trap 'rm -rf "${tmp}"' EXIT
# Prometheus in Debian 12 cannot discover targets in Kubernetes.
download_from_forky "${tmp}" prometheus
dpkg-deb --fsys-tarfile "${tmp}"/debs/prometheus_*.deb | tar --extract --directory "${tmp}" ./usr/bin/prometheus
mkdir -p bin
mv "${tmp}/usr/bin/prometheus" bin/prometheus
echo "${fingerprint}" >"${stamp}"
