#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Provides bin/memcached: the version that the operator runs, or a later one. Needs no root.
#
# Debian 12 has an older version. There, the script unpacks the version of a later Debian, with its libraries, in bin/images/memcached.
# The image of the local cluster has the same content. Elsewhere, bin/memcached is the memcached in the PATH.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

image=$(awk '/name: RELATED_IMAGE_MEMCACHED$/ { getline; print $2; exit }' config/manager/manager.yaml)
wanted=${image##*:}
context=${PWD}/bin/images/memcached
packages=(
	memcached libc6 libevent-2.1-7t64 libsasl2-2 libdb5.3t64 libssl3t64 libzstd1 zlib1g libgcc-s1 libseccomp2 liblua5.4-0
)

download() {
	local archive
	archive=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources 2>/dev/null | grep -v security | head -1 || true)
	if [[ -z ${archive} ]]; then
		archive=$(awk '$1 == "deb" && $0 !~ /security/ { for (i = 2; i <= NF; i++) if ($i ~ "://") { print $i; exit } }' /etc/apt/sources.list)
	fi
	rm -rf "${context}"
	mkdir -p "${context}"/{lists/partial,cache/archives/partial,debs,rootfs/usr/lib,rootfs/usr/lib64}
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${archive} forky main" >"${context}/sources.list"
	local apt=(apt-get -qq -o "Dir::Etc::SourceList=${context}/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o "Dir::State::Lists=${context}/lists" -o "Dir::Cache=${context}/cache" -o Dir::State::status=/dev/null
		-o APT::Sandbox::User=root)
	"${apt[@]}" update
	(cd "${context}/debs" && "${apt[@]}" download "${packages[@]}")
	ln -s usr/lib "${context}/rootfs/lib"
	ln -s usr/lib64 "${context}/rootfs/lib64"
	local deb
	for deb in "${context}"/debs/*.deb; do
		dpkg-deb --fsys-tarfile "${deb}" | tar --extract --keep-directory-symlink --directory "${context}/rootfs"
	done
	rm -rf "${context:?}"/{lists,cache,debs} "${context}/rootfs/usr/share/"{doc,man,locale}
}

# Writes bin/memcached: a script that executes this command line with its own arguments appended.
write_launcher() {
	printf '#!/bin/sh\nexec %s "$@"\n' "$1" >bin/memcached
	chmod +x bin/memcached
	local version
	version=$(bin/memcached -V | awk '{ print $2 }')
	if [[ "$(printf '%s\n' "${wanted}" "${version}" | sort -V | head -1)" != "${wanted}" ]]; then
		rm bin/memcached
		echo "There is memcached ${version}, but ${wanted} is wanted." >&2
		return 1
	fi
}

mkdir -p bin
if ! command -v apt-get >/dev/null; then
	if ! installed=$(type -P memcached); then
		echo "Install memcached ${wanted} or later: it can be downloaded for Debian and its derivatives only." >&2
		exit 1
	fi
	write_launcher "'${installed}'"
	exit
fi
exec {lock}>bin/memcached.lock # several suites may run this script at once
flock "${lock}"
fingerprint="${wanted} $(cksum <"hack/memcached.sh")"
if [[ "$(cat "${context}/.stamp" 2>/dev/null)" != "${fingerprint}" ]]; then
	download
	echo "${fingerprint}" >"${context}/.stamp"
fi
# The system's loader would load the system's libraries instead of the unpacked ones.
libraries=$(dirname "$(find "${context}/rootfs/usr/lib" -name libc.so.6 | head -1)")
loader=$(find "${libraries}" "${context}/rootfs/usr/lib" -maxdepth 1 -name 'ld-linux*' | head -1)
write_launcher "'${loader}' --library-path '${libraries}' '${context}/rootfs/usr/bin/memcached'"
