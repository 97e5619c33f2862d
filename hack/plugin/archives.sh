#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the kubectl plugin for each of the PLATFORMS, with the licenses of all its code:
#   hack/plugin/archives.sh FOLDER
# The same source and version always result in the same bytes.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=$1
rm -rf "${out}"
mkdir -p "${out}"
work=$(mktemp -d)
trap 'rm -rf "${work}"' EXIT
content=${work}/content
mkdir "${content}"

cp LICENSE cmd/kubectl-memcached/kubectl_complete-memcached "${content}"
IFS=, read -ra platforms <<<"${PLATFORMS}"
for platform in "${platforms[@]}"; do
	os=${platform%/*} arch=${platform#*/}
	command=kubectl-memcached
	[[ ${os} != windows ]] || command=kubectl-memcached.exe
	archive=${out}/kubectl-memcached_v${VERSION}_${os}_${arch}.tar.gz
	echo "Building ${archive}"
	rm -rf "${content}"/{kubectl-memcached,kubectl-memcached.exe,licenses}
	GOOS=${os} GOARCH=${arch} hack/licenses.sh ./cmd/kubectl-memcached "${content}/licenses"
	CGO_ENABLED=0 GOOS=${os} GOARCH=${arch} GOFLAGS="" go build -trimpath -buildvcs=false \
		-ldflags "-s -w -X main.version=v${VERSION}" -o "${content}/${command}" ./cmd/kubectl-memcached
	tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r,go-w -C "${content}" -cf - . |
		gzip --no-name --best >"${archive}"
done
