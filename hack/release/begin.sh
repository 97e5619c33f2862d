#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Begins version NEXT: replaces VERSION by NEXT in all files that name the version in preparation. If VERSION has been published, the
# script keeps its bundle in catalog/bundles. make begin-version calls this script, with the variables of published.mk.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

[[ "${NEXT}" =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || {
	echo "NEXT is '${NEXT}', but must be a semantic version without a leading v, such as 1.2.3." >&2
	exit 2
}
[[ "${NEXT}" != "${VERSION}" ]] || { echo "NEXT is ${NEXT}, the version of the checkout: choose a later one." >&2; exit 2; }

old=${VERSION//./\\.}
bundle=${IMAGE_TAG_BASE}-bundle:v

# The pages about installation, and the files to which they refer. Versions in other pages are history and stay.
mapfile -t pages < <(git ls-files -- README.md docs config/manager/kustomization.yaml config/samples |
	grep -E '(\.md|\.yaml|images\.txt)$' | grep -vE '^docs/(design/|benchmarks\.md|operations/(release|upgrades|compatibility)\.md)')
sed -i -E ":again; s/(^|[^0-9.])(v?)${old}([^0-9.]|\.[^0-9]|\.?$)/\1\2${NEXT}\3/; t again" "${pages[@]}"

table=docs/operations/compatibility.md
list=docs/operations/images.txt
if [[ -n "${BUNDLE_DIGEST}" ]]; then
	mkdir -p catalog/bundles
	cp -R bundle "catalog/bundles/${VERSION}"
	previous=$(sed -n 's/^\([0-9][^ ]*\) .*/\1/p' test/olm/previous)
	sed -i "s/:v${previous//./\\.}\$/:v${VERSION}/" "${list}"
	grep -qxF "${IMAGE_TAG_BASE}-agent:v${VERSION}" "${list}" ||
		sed -i "s#^${IMAGE_TAG_BASE}:v${VERSION}\$#&\n${IMAGE_TAG_BASE}-agent:v${VERSION}#" "${list}"
	sed -i "s/^[0-9].*/${VERSION} v${VERSION}/" test/olm/previous
	sed -i "s#^| ${old} |\(.*\)#| ${NEXT} |\1\n&#" "${table}"
else
	# VERSION was not published, so NEXT replaces it.
	sed -i "s#^| ${old} |#| ${NEXT} |#" "${table}"
	sed -i "/-bundle:v${old}\$/d" catalog/template.yaml
fi
for channel in ${CHANNEL_LISTS}; do
	# Adds NEXT at the end of the list, which is before the next list or at the end of the file.
	awk -v channel="${channel}:" -v entry="  - image: ${bundle}${NEXT}" '
		function add() { if (inside) print entry; inside = 0 }
		/^[a-z]/ { add() } { print } $0 == channel { inside = 1 } END { add() }' catalog/template.yaml >catalog/template.new
	mv catalog/template.new catalog/template.yaml
done
sed -i -E "s/^VERSION \?=.*/VERSION ?= ${NEXT}/; s/^([A-Z]+_DIGEST|SOURCES) \?=.*/\1 ?=/" hack/release/published.mk
echo "Version ${NEXT} begins: run make bundle catalog, and commit the result."
