#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Drafts the release on GitHub of the tag v$VERSION: what the changelog says, the archives of the plugin with the manifest for krew, the
# manifests, the software bill of materials, and signed checksums of all. make github-release calls this script, with COSIGN.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

out=dist/release
notes=$(mktemp)
trap 'rm -f "${notes}"' EXIT
sed -n "/^## \[${VERSION//./\\.}\] - /,/^## \[\|^\[/{/^## \[\|^\[/!p}" CHANGELOG.md >"${notes}"
grep -q . "${notes}" || { echo "CHANGELOG.md has no entry for ${VERSION}: run make release-day." >&2; exit 2; }
archives=(dist/plugin/kubectl-memcached_v"${VERSION}"_*.tar.gz)
for file in "${archives[0]}" dist/plugin/memcached.yaml dist/install.yaml dist/sbom.cdx.json; do
	[[ -f "${file}" ]] || { echo "${file} is missing: run make plugin build-installer sbom." >&2; exit 2; }
done

rm -rf "${out}"
mkdir -p "${out}"
cp "${archives[@]}" dist/plugin/memcached.yaml dist/install.yaml dist/sbom.cdx.json "${out}"
(cd "${out}" && sha256sum -- * >SHA256SUMS)
read -ra flags <<<"${COSIGN_FLAGS:-}"
"${COSIGN}" sign-blob --yes --bundle "${out}/SHA256SUMS.sigstore.json" ${flags[@]+"${flags[@]}"} "${out}/SHA256SUMS"
kind=()
[[ "${VERSION}" != *-* ]] || kind=(--prerelease)
gh release create "v${VERSION}" --draft --verify-tag ${kind[@]+"${kind[@]}"} --title "v${VERSION}" --notes-file "${notes}" "${out}"/*
