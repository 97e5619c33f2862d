#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints the krew manifest for the archives in a folder, which hack/plugin/archives.sh has written:
#   hack/plugin/krew.sh FOLDER
set -o errexit -o nounset -o pipefail
folder=$1

cat <<END
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: memcached
spec:
  version: v${VERSION}
  homepage: ${PLUGIN_URL%/releases/*}
  shortDescription: See inside memcached caches
  description: |
    Shows the nodes of the caches that the Memcached operator runs: items, memory, hit ratio,
    evictions and connections. Reads and writes single keys on the node that holds them, lists
    servers for the configuration of clients, flushes and restarts caches, and collects what a
    bug report needs. Reaches memcached through the API server, with your own permissions.
  caveats: |
    You need the permissions to get and list memcacheds.cache.example.com and pods, and to
    create pods/portforward.
  platforms:
END
found=0
for archive in "${folder}"/kubectl-memcached_v"${VERSION}"_*.tar.gz; do
	[[ -e "${archive}" ]] || continue
	found=$((found + 1))
	name=$(basename "${archive}")
	platform=${name#kubectl-memcached_v"${VERSION}"_}
	platform=${platform%.tar.gz}
	os=${platform%_*} arch=${platform#*_}
	command=kubectl-memcached
	[[ ${os} != windows ]] || command=kubectl-memcached.exe
	cat <<-END
		  - selector:
		      matchLabels:
		        os: ${os}
		        arch: ${arch}
		    uri: ${PLUGIN_URL}/v${VERSION}/${name}
		    sha256: $(sha256sum "${archive}" | cut -d' ' -f1)
		    bin: ${command}
	END
done
if [[ ${found} -eq 0 ]]; then
	echo "${folder} has no archives of version ${VERSION}: run make plugin." >&2
	exit 1
fi
