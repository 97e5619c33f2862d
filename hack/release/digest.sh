# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# digest_of IMAGE prints the digest of the image's list of platforms. It asks docker, or skopeo if CONTAINER_TOOL is podman.
digest_of() {
	local digest
	if [[ "$(basename "${CONTAINER_TOOL}")" == podman ]]; then
		digest=$(skopeo inspect --format '{{.Digest}}' "docker://$1") || return
	else
		digest=$("${CONTAINER_TOOL}" buildx imagetools inspect --format '{{.Manifest.Digest}}' "$1") || return
	fi
	[[ "${digest}" =~ ^sha256:[0-9a-f]{64}$ ]] && echo "${digest}"
}
