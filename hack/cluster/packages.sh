#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Checks or installs what the local cluster and its tests need on this machine:
#   hack/cluster/packages.sh check     fails if the cluster lacks something, and says what in one sentence
#   hack/cluster/packages.sh cluster   installs what the cluster needs, on Debian and its derivatives
#   hack/cluster/packages.sh install   installs what the tests need as well
set -o errexit -o nounset -o pipefail

source "$(dirname "${BASH_SOURCE[0]}")/debian.sh"

# Each entry is a command and the package that contains it.
needed=(
	ip:iproute2 nft:nftables conntrack:conntrack nsenter:util-linux runc:runc buildah:buildah busybox:busybox-static
	/usr/lib/cni/ptp:containernetworking-plugins
)
# Other packages for the tests: the clients of docs/clients.md, and a C compiler for the race detector. Most of them have no command to
# check.
others=(
	gcc libc6-dev libmemcached-tools openssl php-cli php-memcached python3-django python3-memcache
	python3-oslo.cache python3-pylibmc python3-pymemcache
)
elsewhere="Without it, the end-to-end tests run on any other cluster, such as kind: KUBECONFIG=... make test-e2e."

if [[ "$(uname)" != Linux || "$(id -u)" != 0 ]]; then
	echo "The local cluster needs Linux and root, for namespaces and containers. ${elsewhere}" >&2
	exit 1
fi
missing=()
for entry in "${needed[@]}"; do
	command -v "${entry%%:*}" >/dev/null || missing+=("${entry#*:}")
done
# Even on derivatives, the memcached image of the local cluster contains packages of Debian. apt-get verifies them with these keys.
[[ -e ${keyring} ]] || missing+=(debian-archive-keyring)
if [[ $1 == install ]] && command -v dpkg-query >/dev/null; then
	for package in "${others[@]}"; do
		[[ "$(dpkg-query --show --showformat='${db:Status-Status}' "${package}" 2>/dev/null)" == installed ]] || missing+=("${package}")
	done
fi
if [[ ${#missing[@]} -eq 0 ]]; then
	exit
fi
if ! command -v apt-get >/dev/null; then
	echo "The local cluster supports Debian and its derivatives only: it needs these packages: ${missing[*]}. ${elsewhere}" >&2
	exit 1
fi
if [[ $1 != check ]]; then
	echo "Installing the packages ${missing[*]}"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
	echo "The local cluster needs these packages: ${missing[*]}. Install them with: hack/cluster/packages.sh cluster. ${elsewhere}" >&2
	exit 1
fi
