#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Drafts the release on GitHub of the tag v$VERSION: what the changelog says, the manifests, the software bill of materials, and signed checksums of all. make github-release calls this script, with COSIGN.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

out=dist/release
notes=$(mktemp)
trap 'rm -f "${notes}"' EXIT
sed -n "/^## \[${VERSION//./\\.}\] - /,/^## \[\|^\[/{/^## \[\|^\[/!p}" CHANGELOG.md >"${notes}"
grep -q . "${notes}" || { echo "CHANGELOG.md has no entry for ${VERSION}: run make release-day." >&2; exit 2; }
for file in dist/install.yaml dist/sbom.cdx.json; do
	[[ -f "${file}" ]] || { echo "${file} is missing: run make build-installer sbom." >&2; exit 2; }
done

rm -rf "${out}"
mkdir -p "${out}"
cp dist/install.yaml dist/sbom.cdx.json "${out}"
(cd "${out}" && sha256sum -- * >SHA256SUMS)
read -ra flags <<<"${COSIGN_FLAGS:-}"
"${COSIGN}" sign-blob --yes --bundle "${out}/SHA256SUMS.sigstore.json" ${flags[@]+"${flags[@]}"} "${out}/SHA256SUMS"
kind=()
[[ "${VERSION}" != *-* ]] || kind=(--prerelease)
gh release create "v${VERSION}" --draft --verify-tag ${kind[@]+"${kind[@]}"} --title "v${VERSION}" --notes-file "${notes}" "${out}"/*
