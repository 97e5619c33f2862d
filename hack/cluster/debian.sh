# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A function for scripts that need packages of a later Debian release than the machine may have.

# download_from_forky FOLDER PACKAGE... downloads packages to FOLDER/debs without installing them. It uses the machine's own archive.
download_from_forky() {
	local folder=$1 archive
	shift
	archive=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources 2>/dev/null | grep -v security | head -1 || true)
	if [[ -z ${archive} ]]; then
		archive=$(awk '$1 == "deb" && $0 !~ /security/ { for (i = 2; i <= NF; i++) if ($i ~ "://") { print $i; exit } }' /etc/apt/sources.list)
	fi
	mkdir -p "${folder}"/{lists/partial,cache/archives/partial,debs}
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${archive} forky main" >"${folder}/sources.list"
	local apt=(apt-get -qq -o "Dir::Etc::SourceList=${folder}/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o "Dir::State::Lists=${folder}/lists" -o "Dir::Cache=${folder}/cache" -o Dir::State::status=/dev/null
		-o APT::Sandbox::User=root)
	"${apt[@]}" update
	(cd "${folder}/debs" && "${apt[@]}" download "$@")
	rm -rf "${folder:?}"/{lists,cache}
}
