#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

# Builds the operator, its agent and its launcher twice, with the flags of the Dockerfile: once here with Go's cache, and once in a copy
# elsewhere with an empty cache, which compiles everything again. The digests must be equal.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "${work}"' EXIT
elsewhere=${work}/a/folder/of/another/name
mkdir -p "${elsewhere}" "${work}/cache" "${work}/out/here" "${work}/out/elsewhere"
# The files from which the Dockerfile compiles the commands.
cp -R go.mod go.sum main.go api cmd controllers internal "${elsewhere}"

# build FOLDER builds the commands into a folder.
build() {
	local flags="-s -w -X main.version=v${VERSION}"
	CGO_ENABLED=0 GOFLAGS="" go build -trimpath -buildvcs=false -ldflags "${flags}" -o "$1/manager" .
	CGO_ENABLED=0 GOFLAGS="" go build -trimpath -buildvcs=false -ldflags "${flags}" -o "$1/agent" ./cmd/agent
	CGO_ENABLED=0 GOFLAGS="" go build -trimpath -buildvcs=false -ldflags "${flags}" -o "$1/launcher" ./cmd/launcher
}
build "${work}/out/here"
(cd "${elsewhere}" && GOCACHE="${work}/cache" build "${work}/out/elsewhere")

for command in manager agent launcher; do
	here=$(sha256sum "${work}/out/here/${command}" | cut -d' ' -f1)
	there=$(sha256sum "${work}/out/elsewhere/${command}" | cut -d' ' -f1)
	if [[ ${here} != "${there}" ]]; then
		echo "The builds of ${command} differ: ${here} here, ${there} elsewhere." >&2
		exit 1
	fi
	echo "${command} v${VERSION}, $(go env GOVERSION) $(go env GOOS)/$(go env GOARCH): sha256 ${here}, twice"
done
