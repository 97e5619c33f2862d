#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Unpacks programs of a Debian package to bin/kubernetes: hack/cluster/unpack.sh PACKAGE PROGRAM... Compiling them would take minutes.
# Installing them would start services of this machine. Debian 12 has too old ones: its containerd does not work with this kubelet, and its
# Prometheus does not find targets in Kubernetes.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

source hack/cluster/debian.sh
package=$1
shift
stamp=bin/kubernetes/.${package}.stamp
fingerprint="$(cat "$0" hack/cluster/debian.sh | cksum) $*"
if [[ "$(cat "${stamp}" 2>/dev/null)" == "${fingerprint}" ]]; then
	exit
fi
tmp=$(mktemp -d)
trap 'rm -rf "${tmp}"' EXIT
download_from_forky "${tmp}" "${package}"
mkdir -p bin/kubernetes
dpkg-deb --fsys-tarfile "${tmp}/debs/${package}"_*.deb | tar --extract --strip-components=3 --directory bin/kubernetes "${@/#/./usr/bin/}"
echo "${fingerprint}" >"${stamp}"
