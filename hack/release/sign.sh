#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Signs images by their digests with COSIGN: hack/release/sign.sh [--sbom FILE] IMAGE...
# If an image is named by a tag, the script looks up its digest. With --sbom, it also attests the software bill of materials.
# Without COSIGN_FLAGS such as --key=cosign.key, the signature is keyless: it names the person or the workflow that signs.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source hack/release/digest.sh

sbom=
if [[ "${1:-}" == --sbom ]]; then
	sbom=$2
	shift 2
	[[ -f "${sbom}" ]] || { echo "${sbom} is missing: run make sbom." >&2; exit 2; }
fi
read -ra flags <<<"${COSIGN_FLAGS:-}"
for image in "$@"; do
	if [[ "${image}" != *@sha256:* ]]; then
		digest=$(digest_of "${image}") || { echo "The digest of ${image} cannot be looked up: push the image first." >&2; exit 2; }
		image=${image%:*}@${digest}
	fi
	# This signs every platform and its provenance. The SBOM is attested once for all platforms.
	"${COSIGN}" sign --yes --recursive ${flags[@]+"${flags[@]}"} "${image}"
	[[ -z "${sbom}" ]] || "${COSIGN}" attest --yes --type cyclonedx --predicate "${sbom}" ${flags[@]+"${flags[@]}"} "${image}"
	echo "Signed: ${image}"
done
