#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Refuses to release what must not be published. Each finding says what to set or to do. make check-release calls this script;
# the .mk files describe the variables, and docs/operations/release.md the way to a release.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

source hack/release/sources.sh

findings=0
refuse() {
	echo "- $*"
	findings=$((findings + 1))
}

csv=bundle/manifests/memcached-operator.clusterserviceversion.yaml
base=config/manifests/bases/memcached-operator.clusterserviceversion.yaml

check_checkout() {
	[[ -z "$(git status --porcelain)" ]] || refuse "The checkout has changes that no commit contains: commit or remove them."
	local tagged
	tagged=$(git rev-parse --quiet --verify "refs/tags/v${VERSION}^{commit}" || true)
	[[ -z "${tagged}" || "${tagged}" == "$(git rev-parse HEAD)" ]] ||
		refuse "The tag v${VERSION} names another commit, ${tagged}: released versions do not change, so raise VERSION."
}

check_changelog() {
	local day created
	day=$(sed -n "s/^## \[${VERSION//./\\.}\] - \([0-9-]*\)$/\1/p" CHANGELOG.md)
	created=$(sed -n 's/^ *createdAt: "\([0-9-]*\)T.*/\1/p' "${base}")
	if [[ -z "${day}" ]]; then
		refuse "CHANGELOG.md has no entry for this version: rename the section Unreleased to [${VERSION}] - ${created}, and begin a new one."
	elif [[ "${day}" != "${created}" ]]; then
		refuse "CHANGELOG.md dates the version ${day}, and createdAt in ${base} is ${created}: set both to the day of the release."
	elif ! sed -n "/^## \[${VERSION//./\\.}\] - /,/^## \[/p" CHANGELOG.md | grep '^- ' >/dev/null; then
		refuse "CHANGELOG.md says nothing about [${VERSION}]: list what users notice."
	elif sed -n '/^## \[Unreleased\]$/,/^## \[[0-9]/p' CHANGELOG.md | grep -q '^- '; then
		refuse "CHANGELOG.md has unreleased changes, but the release contains them: move them to [${VERSION}]."
	fi
}

check_versions() {
	local found
	found=$(sed -n 's/^  version: //p' "${csv}")
	[[ "${found}" == "${VERSION}" ]] || refuse "The bundle is of version ${found}: run make bundle catalog, and commit the result."
	grep -q -- "-bundle:v${VERSION//./\\.}\(@.*\)\?$" catalog/template.yaml ||
		refuse "catalog/template.yaml does not list this version: add it."
	if [[ -n "${OPERATOR_DIGEST}" && "$(sources_of_image)" != "${SOURCES}" ]]; then
		refuse "The images were pushed before their sources changed: push them anew, as the page about releases says."
	fi
	[[ "${IMG##*/}" == *":v${VERSION}" ]] || refuse "IMG is ${IMG}, but its tag must be v${VERSION}: set IMG or IMAGE_TAG_BASE."
	[[ "${AGENT_IMG##*/}" == *":v${VERSION}" ]] || refuse "AGENT_IMG is ${AGENT_IMG}, but its tag must be v${VERSION}: set AGENT_IMG or IMAGE_TAG_BASE."
}

# Nobody can publish at example.com, so its names count as placeholders.
check_placeholders() {
	local variable group
	for variable in IMG AGENT_IMG BUNDLE_IMG CATALOG_IMG SCORECARD_IMG; do
		[[ "${!variable}" != example.com/* ]] ||
			refuse "${variable} is the placeholder ${!variable}: set IMAGE_TAG_BASE to the prefix of your images in your registry."
	done
	group=$(sed -n 's/^  group: //p' config/crd/bases/*.yaml)
	[[ "${group}" != *.example.com ]] ||
		refuse "The API group ${group} is a placeholder, and cannot change after the first release: run hack/rename.sh."
	# The three files that are left out find or replace placeholders, so they must contain some.
	local files
	files=$(git grep -lE 'github\.com/example\b|@example(\.com|/)|(^|[^A-Za-z0-9.-])example\.com/memcached-operator' -- \
		':!hack/release/check.sh' ':!hack/rename.sh' ':!Makefile' | head -5 || true)
	[[ -z "${files}" ]] ||
		refuse "These files, and maybe more, contain names, links or addresses with the placeholder example: ${files//$'\n'/, }." \
			"Run hack/rename.sh."
}

# Sentences that are true only until the first release.
check_pages() {
	local files
	files=$(git grep -liE '\b(no|none)( [A-Za-z]+){0,6} been published' -- '*.md' || true)
	[[ -z "${files}" ]] || refuse "These pages say that nothing has been published: ${files//$'\n'/, }. Write where it is."
}

# A tag can be moved to another image, a digest cannot.
check_digests() {
	local variable image
	for variable in BUILD_IMAGE BASE_IMAGE OPM_IMG; do
		[[ "${!variable}" == *@sha256:* ]] || refuse "${variable} is '${!variable}', without a digest: set what make base-images prints."
	done
	while read -r image; do
		[[ "${image}" == *@sha256:* ]] ||
			refuse "The bundle names ${image} without a digest: push the image, and run make record-images, then make bundle."
	done < <(sed -n 's/^[ -]*\(image\|containerImage\): //p' "${csv}" bundle/tests/scorecard/config.yaml | grep -v '/scorecard-test:' | sort -u)
	while read -r image; do
		[[ "${image}" == *@sha256:* ]] ||
			refuse "The catalog names the bundle ${image} without a digest: push it, and run make record-bundle, then make catalog."
	done < <(sed -n 's/^image: //p' catalog/memcached-operator/catalog.yaml | sort -u)
}

check_checkout
check_changelog
check_versions
check_placeholders
check_pages
check_digests
if [[ ${findings} -gt 0 ]]; then
	echo "Version ${VERSION} must not be published yet: see the ${findings} findings above." >&2
	exit 1
fi
echo "Version ${VERSION} can be published."
