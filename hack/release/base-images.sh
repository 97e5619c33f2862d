#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints the base images of the Dockerfile, and that of the catalog (OPM_IMG), with their digests, as NAME=IMAGE for make. The
# digests are those of the lists of platforms. docker looks them up itself, podman with skopeo.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

digest_of() {
	if [[ "$(basename "${CONTAINER_TOOL}")" == podman ]]; then
		skopeo inspect --format '{{.Digest}}' "docker://$1"
	else
		"${CONTAINER_TOOL}" buildx imagetools inspect --format '{{.Manifest.Digest}}' "$1"
	fi
}

{
	sed -n 's/^ARG \(BUILD_IMAGE\|BASE_IMAGE\)=/\1 /p' Dockerfile
	echo "OPM_IMG ${OPM_IMG}"
} | while read -r name image; do
	if ! digest=$(digest_of "${image}") || [[ ! "${digest}" =~ ^sha256:[0-9a-f]{64}$ ]]; then
		echo "The digest of ${image} cannot be looked up: set ${name} to the image with its digest yourself, as name@sha256:..." >&2
		exit 2
	fi
	# Without the tag, which says no more than the digest, and which not every tool accepts beside it.
	echo "${name}=${image%:*}@${digest}"
done
