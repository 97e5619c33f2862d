#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Provides bin/memcached: the version that the operator runs, or a later one. Needs no root. If the memcached in the PATH is new enough,
# bin/memcached runs it. Otherwise, for example on Debian 12 and Ubuntu 24.04, the script unpacks the memcached of a later Debian, with
# its libraries, to bin/images/memcached. With the argument "unpack", it always unpacks, because the memcached image of the local cluster
# is built from these files.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

source hack/cluster/debian.sh
image=$(awk '/name: RELATED_IMAGE_MEMCACHED$/ { getline; print $2; exit }' config/manager/manager.yaml)
wanted=${image##*:}
context=${PWD}/bin/images/memcached
packages=(
	memcached libc6 libevent-2.1-7t64 libsasl2-2 libdb5.3t64 libssl3t64 libzstd1 zlib1g libgcc-s1 libseccomp2 liblua5.4-0
)

unpack() {
	rm -rf "${context}"
	mkdir -p "${context}"/rootfs/usr/{lib,lib64}
	download_from_forky "${context}" "${packages[@]}"
	ln -s usr/lib "${context}/rootfs/lib"
	ln -s usr/lib64 "${context}/rootfs/lib64"
	local deb
	for deb in "${context}"/debs/*.deb; do
		dpkg-deb --fsys-tarfile "${deb}" | tar --extract --keep-directory-symlink --directory "${context}/rootfs"
	done
	rm -rf "${context:?}/debs" "${context}/rootfs/usr/share/"{doc,man,locale}
}

# is_new_enough COMMAND... reports whether this memcached has the wanted version or a later one.
is_new_enough() {
	local version
	version=$("$@" -V | awk '{ print $2 }')
	[[ "$(printf '%s\n' "${wanted}" "${version}" | sort -V | head -1)" == "${wanted}" ]]
}

# Writes bin/memcached: a script that executes this command line with its own arguments appended.
write_wrapper() {
	printf '#!/bin/sh\nexec %s "$@"\n' "$1" >bin/memcached
	chmod +x bin/memcached
}

mkdir -p bin
installed=$(type -P memcached || true)
if [[ ${1:-} != unpack && -n ${installed} && ! ${installed} -ef bin/memcached ]] && is_new_enough "${installed}"; then
	write_wrapper "'${installed}'"
	exit
fi
exec {lock}>bin/memcached.lock # several suites may run this script at once
flock "${lock}"
fingerprint="${wanted} $(cat hack/memcached.sh hack/cluster/debian.sh | cksum)"
if [[ "$(cat "${context}/.stamp" 2>/dev/null)" != "${fingerprint}" ]]; then
	unpack
	echo "${fingerprint}" >"${context}/.stamp"
fi
# The system's loader would load the system's libraries instead of the unpacked ones.
libraries=$(dirname "$(find "${context}/rootfs/usr/lib" -name libc.so.6 | head -1)")
loader=$(find "${libraries}" "${context}/rootfs/usr/lib" -maxdepth 1 -name 'ld-linux*' | head -1)
write_wrapper "'${loader}' --library-path '${libraries}' '${context}/rootfs/usr/bin/memcached'"
if ! is_new_enough bin/memcached; then
	rm bin/memcached
	echo "Debian has an older memcached than ${wanted}." >&2
	exit 1
fi
