#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Follows docs/operations/release.md with a clone of the last commit and a registry on this machine. It gives the project a name if it
# has none, releases the version of the checkout, begins the next version and releases this as well. After each commit, generated files
# must be current, and the suites about the bundle must pass. make release-rehearsal calls this script, with KUSTOMIZE, CONTROLLER_GEN,
# OPERATOR_SDK, OPM and HELM. The other files in this folder replace docker, cosign, syft and gh.
set -o errexit -o errtrace -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
project=${PWD}
folder=$(mktemp -d)
registry=
trap '[[ -z "${registry}" ]] || kill "${registry}"; rm -rf "${folder}"' EXIT
trap 'echo "line ${LINENO} of the rehearsal failed: ${BASH_COMMAND}" >&2' ERR
step() { echo "=== $*"; }

start_registry() {
	cat >"${folder}/registry.yaml" <<-END
		version: 0.1
		storage: {filesystem: {rootdirectory: "${folder}/registry"}}
		http: {addr: "127.0.0.1:0"}
	END
	"${project}/bin/kubernetes/registry" serve "${folder}/registry.yaml" >"${folder}/registry.log" 2>&1 &
	registry=$!
	local address
	until address=$(grep -om1 'listening on [0-9.:]*' "${folder}/registry.log"); do
		kill -0 "${registry}" || { cat "${folder}/registry.log" >&2; exit 1; }
		sleep 0.1
	done
	export REHEARSAL_REGISTRY=http://${address##* }
}

# Pushes a tiny image under the name of each image of another project, because the rehearsal only looks up digests.
push_base_images() {
	local image
	printf 'FROM scratch\nCOPY go.mod /\n' >"${folder}/Dockerfile"
	{
		sed -n 's/^ARG \(BUILD\|BASE\)_IMAGE=//p' Dockerfile
		awk '/name: RELATED_IMAGE_MEMCACHED$/ { getline; print $2; exit }' config/manager/manager.yaml
		make --silent --eval 'show:; @echo $(OPM_IMG)' show
	} | while read -r image; do "${CONTAINER_TOOL}" buildx build --tag "${image}" --file "${folder}/Dockerfile" .; done
}

# Makes repositories in place of those on GitHub: both community catalogs, and forks of them.
start_github() {
	local catalog
	export GITHUB=file://${folder}/github COMMUNITY_FORKS=shop
	git init --quiet --initial-branch main "${folder}/catalog"
	git -C "${folder}/catalog" commit --quiet --allow-empty --message "A catalog"
	for catalog in "${catalogs[@]}"; do
		git clone --quiet --bare "${folder}/catalog" "${folder}/github/${catalog}"
		git clone --quiet --bare "${folder}/catalog" "${folder}/github/shop/${catalog#*/}"
	done
}

# block NAME runs the block of release.md with this name.
block() {
	step "release.md: $1"
	NEXT=${next} hack/release/block.sh "$1"
}

check() {
	step "after: $(git log -1 --format=%s)"
	make --silent bundle catalog helm
	[[ -z "$(git status --porcelain)" ]] || { git status --short; git diff | head -100; echo "What is generated is not what was committed." >&2; return 1; }
	go test ./test/bundle ./test/manifests ./test/olm
	(cd hack/catalog && go test -count=1 -tags=containers_image_openpgp ./...)
	(cd hack/helm && go test -count=1 ./...)
}

# check_tag VERSION checks that the image contains the name of the version's tag, and that the tag points to the last commit of main.
check_tag() {
	local version=$1 name config digest
	digest=$(sed -n 's/^OPERATOR_DIGEST ?= //p' hack/release/published.mk)
	name=$(sed -n 's/^IMAGE_TAG_BASE ?= [^/]*\///p' hack/release/published.mk)
	config=$(curl --fail --silent --header 'Accept: application/vnd.oci.image.manifest.v1+json' "${REHEARSAL_REGISTRY}/v2/${name}/manifests/${digest}" |
		sed -n 's/.*"config":{[^}]*"digest":"\([^"]*\)".*/\1/p')
	curl --fail --silent --location "${REHEARSAL_REGISTRY}/v2/${name}/blobs/${config}" | grep -q "\"org.opencontainers.image.revision\":\"v${version}\"" ||
		{ echo "the image of v${version} does not name its tag" >&2; return 1; }
	[[ "$(git ls-remote origin "refs/tags/v${version}^{}" | cut -f 1)" == "$(git ls-remote origin refs/heads/main | cut -f 1)" ]] ||
		{ echo "v${version} is not what main is" >&2; return 1; }
}

# check_publications VERSION checks the records of the replaced commands: a signature for the digest of each image and of the chart, a
# draft of the release with its files, and a pull request for each catalog. It merges these requests.
check_publications() {
	local prefix catalog name digest
	prefix=$(sed -n 's/^IMAGE_TAG_BASE ?= //p' hack/release/published.mk)
	for name in "${prefix}" "${prefix}"-{agent,scorecard,bundle,catalog} "${CHART_REPOSITORY#oci://}/memcached-operator"; do
		grep -q "^sign ${name}@sha256:" "${REHEARSAL_RECORD}/signatures" || { echo "${name} is not signed" >&2; return 1; }
	done
	for name in OPERATOR AGENT; do
		digest=$(sed -n "s/^${name}_DIGEST ?= //p" hack/release/published.mk)
		grep -q "^attest ${prefix}.*@${digest}\$" "${REHEARSAL_RECORD}/signatures" || { echo "nothing says what is in ${digest}" >&2; return 1; }
	done
	[[ "$(wc -l <"${REHEARSAL_RECORD}/signatures")" -eq 8 ]]
	for name in SHA256SUMS.sigstore.json install.yaml sbom.cdx.json; do
		grep -q "^v$1 .*dist/release/${name}\b" "${REHEARSAL_RECORD}/releases"
	done
	grep -q "image: ${prefix}@$(sed -n 's/^OPERATOR_DIGEST ?= //p' hack/release/published.mk)\$" dist/release/install.yaml
	for catalog in "${catalogs[@]}"; do
		grep -q "^${catalog} shop:memcached-operator-$1 operator memcached-operator ($1)\$" "${REHEARSAL_RECORD}/requests"
		git -C "${folder}/github/${catalog}" fetch --quiet "${GITHUB}/shop/${catalog#*/}" "memcached-operator-$1:main"
		[[ "$(git -C "${folder}/github/${catalog}" log -1 --format=%B main)" == *"Signed-off-by: "* ]]
		git -C "${folder}/github/${catalog}" cat-file -e "main:operators/memcached-operator/$1/metadata/annotations.yaml"
	done
	rm "${REHEARSAL_RECORD}"/*
}

catalogs=(k8s-operatorhub/community-operators redhat-openshift-ecosystem/community-operators-prod)
unset VERSION IMG IMAGE_TAG_BASE BUNDLE_IMG CATALOG_IMG SCORECARD_IMG MAKEFLAGS MAKELEVEL MFLAGS
stand_ins=${project}/hack/release/rehearsal
export CONTAINER_TOOL=${stand_ins}/docker COSIGN=${stand_ins}/cosign SYFT=${stand_ins}/syft PATH=${stand_ins}:${PATH}
export LOCALBIN=${folder}/checkout/bin REHEARSAL_RECORD=${folder}/record
export GIT_AUTHOR_NAME=rehearsal GIT_AUTHOR_EMAIL=rehearsal@localhost GIT_COMMITTER_NAME=rehearsal GIT_COMMITTER_EMAIL=rehearsal@localhost
mkdir "${REHEARSAL_RECORD}"
start_registry
start_github
export CHART_REPOSITORY=oci://${REHEARSAL_REGISTRY#http://}/charts HELM_PUSH_FLAGS=--plain-http
git clone --quiet "${project}" "${folder}/checkout"
cd "${folder}/checkout"
git checkout --quiet -B main
git clone --quiet --bare . "${folder}/origin"
git remote set-url origin "${folder}/origin"
push_base_images

if grep -q '^domain: example.com$' PROJECT; then
	step "a name"
	hack/rename.sh shop.io registry.shop.io/team/memcached-operator github.com/shop/memcached-operator
	# check-release refuses pages that say that nothing has been published. A publisher edits these pages to say where the project is.
	git grep -liE '\b(no|none)( [A-Za-z]+){0,6} been published' -- '*.md' | xargs sed -i 's/ been published/ been announced/'
	make --silent manifests bundle catalog
	git add --all
	git commit --quiet --message "A name"
	check
fi
# next_of VERSION prints the version after VERSION.
next_of() { awk -F '[.-]' '{ print $1 "." $2 "." $3 + 1 }' <<<"$1"; }
first=$(sed -n 's/^VERSION ?= //p' hack/release/published.mk)
if grep -q '^BUNDLE_DIGEST ?= .' hack/release/published.mk; then
	first=$(next_of "${first}")
	NEXT=${first} hack/release/block.sh begin
	check
fi
next=$(next_of "${first}")

for version in "${first}" "${next}"; do
	block prepare
	check
	block publish
	check
	check_tag "${version}"
	block sign
	block chart
	block github
	block catalogs
	check_publications "${version}"
	if [[ "${version}" == "${first}" ]]; then
		block begin
		check
		sed -i 's/^## \[Unreleased\]$/&\n\n### Fixed\n\n- What the rehearsal found./' CHANGELOG.md
	fi
done
step "${next} follows ${first} in the catalog, and both are named by their digests"
grep -q "name: memcached-operator.v${next}" catalog/memcached-operator/catalog.yaml
[[ "$(grep '^image: .*-bundle@sha256:' catalog/memcached-operator/catalog.yaml | sort -u | wc -l)" -ge 2 ]]
diff -r <(git show "v${first}:bundle/manifests/memcached-operator.clusterserviceversion.yaml") \
	"catalog/bundles/${first}/manifests/memcached-operator.clusterserviceversion.yaml"
echo "The page leads from ${first} to ${next}."
