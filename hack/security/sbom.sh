#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

# sbom.sh FILE writes the software bill of materials of the operator as CycloneDX, with SYFT. Syft reads the binary, so the list
# contains only linked modules. The agent and the launcher link no other modules. The same commit always results in the same bytes.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "${work}"' EXIT

CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=v${VERSION}" -o "${work}/manager" .
# The script removes the serial number, the time and the file paths. They differ between runs, and the format does not require them.
(cd "${work}" && SYFT_CHECK_FOR_APP_UPDATE=false SYFT_FILE_METADATA_SELECTION=none "${SYFT}" scan file:manager --source-name memcached-operator \
	--source-version "v${VERSION}" --output cyclonedx-json --quiet) |
	sed -E -e 's/"serialNumber": ?"[^"]*",//' -e 's/"timestamp": ?"[^"]*",//' >"${work}/sbom.json"
if grep -qE '"(serialNumber|timestamp)"' "${work}/sbom.json"; then
	echo "The SBOM holds a serial number or a time." >&2
	exit 1
fi
mkdir -p "$(dirname "$1")"
mv "${work}/sbom.json" "$1"
echo "$1 lists $(grep -o '"type":"library"' "$1" | wc -l) modules; sha256 $(sha256sum "$1" | cut -d' ' -f1)"
