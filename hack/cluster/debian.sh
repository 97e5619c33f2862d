# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Functions for scripts that need packages of a later Debian release than the machine may have. The machine may also run another system
# with apt-get, such as Ubuntu.

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# Prints the address of the Debian archive that the machine uses. If the machine runs another system, this is deb.debian.org.
debian_archive() {
	local archive=""
	if grep -qx 'ID=debian' /etc/os-release; then
		archive=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources 2>/dev/null | grep -v security | head -1 || true)
		if [[ -z ${archive} && -e /etc/apt/sources.list ]]; then
			archive=$(awk '$1 == "deb" && $0 !~ /security/ { for (i = 2; i <= NF; i++) if ($i ~ "://") { print $i; exit } }' /etc/apt/sources.list)
		fi
	fi
	echo "${archive:-http://deb.debian.org/debian}"
}

# download_from_forky FOLDER PACKAGE... downloads packages to FOLDER/debs without installing them.
download_from_forky() {
	local folder=$1
	shift
	if [[ ! -e ${keyring} ]] || ! command -v apt-get >/dev/null; then
		echo "Install a recent $1, or apt-get and ${keyring} (package debian-archive-keyring), with which it is downloaded." >&2
		return 1
	fi
	mkdir -p "${folder}"/{lists/partial,cache/archives/partial,debs}
	echo "deb [signed-by=${keyring}] $(debian_archive) forky main" >"${folder}/sources.list"
	local apt=(apt-get -qq -o "Dir::Etc::SourceList=${folder}/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o "Dir::State::Lists=${folder}/lists" -o "Dir::Cache=${folder}/cache" -o Dir::State::status=/dev/null
		-o APT::Sandbox::User=root)
	"${apt[@]}" update
	(cd "${folder}/debs" && "${apt[@]}" download "$@")
	rm -rf "${folder:?}"/{lists,cache}
}
