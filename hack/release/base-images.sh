#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints the base images of the Dockerfile and of the catalog (OPM_IMG) with their digests, as NAME=IMAGE for make.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source hack/release/digest.sh

{
	sed -n 's/^ARG \(BUILD_IMAGE\|BASE_IMAGE\)=/\1 /p' Dockerfile
	echo "OPM_IMG ${OPM_IMG}"
} | while read -r name image; do
	if ! digest=$(digest_of "${image}"); then
		echo "The digest of ${image} cannot be looked up: set ${name} to the image with its digest yourself, as name@sha256:..." >&2
		exit 2
	fi
	# The tag is removed: the digest suffices, and some tools refuse a reference with both.
	echo "${name}=${image%:*}@${digest}"
done
