#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Walks docs/operations/release.md with a clone of the last commit and a registry on this machine: the project gets a name, version
# of the checkout is released, the next one begins and is released. After each commit, what is generated must be current, and the suites
# about the bundle pass. make release-rehearsal calls this script, with KUSTOMIZE and OPERATOR_SDK.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
project=${PWD}
folder=$(mktemp -d)
registry=
trap '[[ -z "${registry}" ]] || kill "${registry}"; rm -rf "${folder}"' EXIT
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

# Images of others, which the rehearsal only looks up.
push_base_images() {
	local image
	printf 'FROM scratch\nCOPY go.mod /\n' >"${folder}/Dockerfile"
	{
		sed -n 's/^ARG \(BUILD\|BASE\)_IMAGE=//p' Dockerfile
		awk '/name: RELATED_IMAGE_MEMCACHED$/ { getline; print $2; exit }' config/manager/manager.yaml
		make --silent --eval 'show:; @echo $(OPM_IMG)' show
	} | while read -r image; do "${CONTAINER_TOOL}" buildx build --tag "${image}" --file "${folder}/Dockerfile" .; done
}

# block NAME runs the block of the page that is marked with the name. Without a key, it cannot sign.
block() {
	step "release.md: $1"
	awk -v marker="<!-- not run: .*make release-rehearsal runs it as $1 -->" '
		$0 ~ marker { found = 1; next } found && /^```sh/ { inside = 1; next } inside && /^```/ { exit } inside' docs/operations/release.md |
		sed "s/ --sign / --annotate /; s/ NEXT=.*/ NEXT=${next}/" >"${folder}/block"
	[[ -s "${folder}/block" ]] || { echo "the page has no block $1" >&2; return 1; }
	bash -o errexit -o nounset -o pipefail -x "${folder}/block"
}

check() {
	step "after: $(git log -1 --format=%s)"
	make --silent bundle catalog helm
	[[ -z "$(git status --porcelain)" ]] || { git status --short; git diff | head -100; echo "What is generated is not what was committed." >&2; return 1; }
	go test ./test/bundle ./test/manifests ./test/olm
	(cd hack/catalog && go test -count=1 -tags=containers_image_openpgp ./...)
	(cd hack/helm && go test -count=1 ./...)
}

# The image names the tag, and the tag is what main was at that moment.
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

unset VERSION IMG IMAGE_TAG_BASE BUNDLE_IMG CATALOG_IMG SCORECARD_IMG MAKEFLAGS MAKELEVEL MFLAGS
export CONTAINER_TOOL=${project}/hack/release/rehearsal/docker LOCALBIN=${folder}/checkout/bin
export GIT_AUTHOR_NAME=rehearsal GIT_AUTHOR_EMAIL=rehearsal@localhost GIT_COMMITTER_NAME=rehearsal GIT_COMMITTER_EMAIL=rehearsal@localhost
start_registry
git clone --quiet "${project}" "${folder}/checkout"
cd "${folder}/checkout"
git checkout --quiet -B main
git clone --quiet --bare . "${folder}/origin"
git remote set-url origin "${folder}/origin"
push_base_images

first=$(sed -n 's/^VERSION ?= //p' hack/release/published.mk)
next=$(awk -F '[.-]' '{ print $1 "." $2 "." $3 + 1 }' <<<"${first}")

step "a name"
hack/rename.sh shop.io registry.shop.io/team/memcached-operator github.com/shop/memcached-operator
make --silent manifests bundle catalog
git add --all
git commit --quiet --message "A name"
check
for version in "${first}" "${next}"; do
	block prepare
	check
	block publish
	check
	check_tag "${version}"
	if [[ "${version}" == "${first}" ]]; then
		block begin
		check
	fi
done
step "${next} follows ${first} in the catalog, and both are named by their digests"
grep -q "name: memcached-operator.v${next}" catalog/memcached-operator/catalog.yaml
[[ "$(grep -c '^image: .*-bundle@sha256:' catalog/memcached-operator/catalog.yaml)" -eq 2 ]]
diff -r <(git show "v${first}:bundle/manifests/memcached-operator.clusterserviceversion.yaml") \
	"catalog/bundles/${first}/manifests/memcached-operator.clusterserviceversion.yaml"
echo "The page leads from ${first} to ${next}."
