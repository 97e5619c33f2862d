#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Writes the digests of pushed images to published.mk: hack/release/record.sh NAME=IMAGE...
# With BUNDLE_DIGEST, it also writes the digest to the catalog's template. With OPERATOR_DIGEST, it also writes a checksum of the
# image's sources.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source hack/release/digest.sh
source hack/release/sources.sh

declare -A found
for pair in "$@"; do
	found[${pair%%=*}]=$(digest_of "${pair#*=}") || {
		echo "The digest of ${pair#*=} cannot be looked up: push the image to a registry that this machine reaches." >&2
		exit 2
	}
done
# It records all digests or none.
for name in "${!found[@]}"; do
	sed -i "s|^${name} ?=.*|${name} ?= ${found[${name}]}|" hack/release/published.mk
	echo "${name} is ${found[${name}]}."
	case ${name} in
	OPERATOR_DIGEST) sed -i "s|^SOURCES ?=.*|SOURCES ?= $(sources_of_image)|" hack/release/published.mk ;;
	BUNDLE_DIGEST) sed -i -E "s|(-bundle:v${VERSION//./\\.})(@.*)?$|\1@${found[${name}]}|" catalog/template.yaml ;;
	esac
done
