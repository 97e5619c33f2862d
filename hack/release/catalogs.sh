#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Drafts a pull request with the bundle to each community catalog, from the forks of COMMUNITY_FORKS on GITHUB. make catalog-requests
# calls this script. git and gh need the permission to push to the forks.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

[[ "${COMMUNITY_FORKS}" =~ ^[A-Za-z0-9-]+$ ]] || {
	echo "COMMUNITY_FORKS is '${COMMUNITY_FORKS}', but must be the GitHub user or organization with forks of both catalogs." >&2
	exit 2
}
work=$(mktemp -d)
trap 'rm -rf "${work}"' EXIT
branch=memcached-operator-${VERSION}
title="operator memcached-operator (${VERSION})"
catalogs=(k8s-operatorhub/community-operators redhat-openshift-ecosystem/community-operators-prod)
for catalog in "${catalogs[@]}"; do
	# The repository is large, so only the folder of this operator is checked out.
	git clone --quiet --depth 1 --filter blob:none --sparse "${GITHUB}/${catalog}" "${work}/${catalog#*/}"
	git -C "${work}/${catalog#*/}" sparse-checkout set operators/memcached-operator
done
COMMUNITY_DIR=${work} hack/bundle/community.sh
for catalog in "${catalogs[@]}"; do
	name=${catalog#*/}
	cd "${work}/${name}"
	git switch --quiet --create "${branch}"
	git add operators/memcached-operator
	git commit --quiet --signoff --message "${title}"
	git push --quiet --force "${GITHUB}/${COMMUNITY_FORKS}/${name}" "${branch}"
	gh pr create --draft --repo "${catalog}" --head "${COMMUNITY_FORKS}:${branch}" --title "${title}" \
		--body "Version ${VERSION}: ${REPOSITORY}/releases/tag/v${VERSION}"
done
