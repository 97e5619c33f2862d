#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Writes the OLM bundle of the checkout: the folder BUNDLE_DIR, and BUNDLE_DIR.Dockerfile beside it. make bundle calls this script;
# bundle.mk describes the variables. The script works on a copy of config. It replaces the old bundle only when the new one is complete
# and valid.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() {
	echo "$*" >&2
	exit 2
}

package=memcached-operator
number='(0|[1-9][0-9]*)'
identifier='(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)'
image='^[A-Za-z0-9][A-Za-z0-9._:/-]*(@sha256:[0-9a-f]{64})?$'

check_input() {
	[[ "${VERSION}" =~ ^${number}\.${number}\.${number}(-${identifier}(\.${identifier})*)?$ ]] ||
		fail "VERSION is '${VERSION}', but must be a semantic version without a leading v, such as 1.2.3 or 1.2.3-rc.1."
	local variable
	for variable in IMG AGENT_IMG MEMCACHED_IMAGE; do
		[[ "${!variable}" =~ ${image} ]] ||
			fail "${variable} is '${!variable}', but must name an image, such as registry.example.com/team/image:v1.2.3."
	done
	[[ "${CHANNELS}" =~ ^[a-z0-9.-]+(,[a-z0-9.-]+)*$ ]] ||
		fail "CHANNELS is '${CHANNELS}', but must be names separated by commas, such as candidate-v0,stable-v0."
	[[ ",${CHANNELS}," == *",${DEFAULT_CHANNEL},"* ]] ||
		fail "DEFAULT_CHANNEL is '${DEFAULT_CHANNEL}', but must be one of CHANNELS, ${CHANNELS}."
	[[ "${USE_IMAGE_DIGESTS}" =~ ^(true|false)?$ ]] ||
		fail "USE_IMAGE_DIGESTS is '${USE_IMAGE_DIGESTS}', but must be true or false."
	[[ "${OPENSHIFT_VERSIONS}" =~ ^=?v[4-9]\.[0-9]+(-v[4-9]\.[0-9]+)?$ ]] ||
		fail "OPENSHIFT_VERSIONS is '${OPENSHIFT_VERSIONS}', but must be an OpenShift version or a range, such as v4.17 or v4.17-v4.20."
	[[ -d "$(dirname "${BUNDLE_DIR}")" ]] || fail "BUNDLE_DIR is '${BUNDLE_DIR}', but $(dirname "${BUNDLE_DIR}") is not a folder: create it."
	local tool
	for tool in "${KUSTOMIZE}" "${OPERATOR_SDK}" go; do
		command -v "${tool}" >/dev/null || fail "${tool} is missing: make bundle builds the tools, and https://go.dev/dl has Go."
	done
}

# quietly COMMAND... runs a command and writes its output to a log. cause prints in one line why the last of these commands failed.
quietly() { "$@" >"${work}/log" 2>&1; }
cause() { grep -E 'level=(error|fatal)|Error:' "${work}/log" | tail -1 | sed -E 's/.*(level=[a-z]+ msg=|Error: )//; s/^"(.*)"$/\1/'; }

# put FILE NAME VALUE replaces each line "NAME: ..." of a YAML file, with any indentation, by "NAME: VALUE".
put() {
	grep -q "^[ -]*$2: " "$1" || fail "$1 has no line $2: for this script to set."
	VALUE=$3 awk -v name="$2" '
		match($0, "^[ -]*" name ": ") { print substr($0, 1, RLENGTH) ENVIRON["VALUE"]; next } { print }' "$1" >"${work}/put"
	cp "${work}/put" "$1"
}

copy_config() {
	cp -R config PROJECT "${work}"
	(cd "${work}/config/manager" && "${KUSTOMIZE}" edit set image "controller=${IMG}" "agent=${AGENT_IMG}")
	local default
	default=$(awk '/name: RELATED_IMAGE_MEMCACHED$/ { getline; print $2; exit }' config/manager/manager.yaml)
	sed -i "s|value: ${default}$|value: ${MEMCACHED_IMAGE}|" "${work}/config/manager/manager.yaml"
	base=${work}/config/manifests/bases/${package}.clusterserviceversion.yaml
	sed -i "s|/v0\.0\.0|/v${VERSION}|" "${base}"
	created=$(awk '$1 == "createdAt:" { print $2 }' "${base}")
	put "${base}" base64data "$(base64 --wrap=0 hack/bundle/icon.svg)"
	put "${base}" features.operators.openshift.io/disconnected "\"${pinned}\""
	# The descriptors come from the markers in api/.
	quietly "${OPERATOR_SDK}" generate kustomize manifests --quiet --interactive=false \
		--input-dir "${work}/config/manifests" --output-dir "${work}/config/manifests" ||
		fail "operator-sdk cannot read the markers in api/, fix them: $(cause)"
}

# generate [FLAG]... generates the bundle of the copied config.
generate() (
	cd "${work}" && "${KUSTOMIZE}" build config/manifests >objects.yaml 2>log || return
	# shellcheck disable=SC2002,SC2086 # operator-sdk reads from a pipe only; BUNDLE_GEN_FLAGS are several words
	cat objects.yaml | quietly "${OPERATOR_SDK}" generate bundle --quiet --package "${package}" --output-dir "${name}" \
		--version "${VERSION}" --channels "${CHANNELS}" --default-channel "${DEFAULT_CHANNEL}" "$@" ${BUNDLE_GEN_FLAGS}
)

# Adds the OpenShift versions to the annotations and to the Dockerfile: operator-sdk rewrites both, and drops these lines.
label_openshift() {
	local key=com.redhat.openshift.versions comment="# The OpenShift versions whose catalogs offer this bundle."
	printf '\n  %s\n  %s: %s\n' "${comment}" "${key}" "${OPENSHIFT_VERSIONS}" >>"${work}/${name}/metadata/annotations.yaml"
	awk -v label="${comment}\nLABEL ${key}=${OPENSHIFT_VERSIONS}\n" '/^# Copy files/ { print label } { print }' \
		"${work}/bundle.Dockerfile" >"${work}/labelled"
	mv "${work}/labelled" "${work}/bundle.Dockerfile"
}

# resolved VARIABLE prints the image to which operator-sdk has set this environment variable of the operator.
resolved() { awk -v name="$1" '$2 == "name:" && $3 == name { getline; print $2; exit }' "${csv}"; }

all_pinned() { [[ "${IMG}" == *@* && "${AGENT_IMG}" == *@* && "${MEMCACHED_IMAGE}" == *@* ]]; }

# operator-sdk finds the digests, but leaves the tag in annotations and lists an image several times. So this function generates a
# bundle only to read the digests from it. The final bundle is then generated from images with digests.
look_up_digests() {
	copy_config
	generate --use-image-digests ||
		fail "The digests of ${IMG}, ${AGENT_IMG} and ${MEMCACHED_IMAGE} cannot be looked up; push the images to a registry that this" \
			"machine reaches, or set IMG, AGENT_IMG and MEMCACHED_IMAGE with their digests, as name@sha256:... ($(cause))"
	IMG=$(awk '$1 == "image:" { print $2; exit }' "${csv}")
	AGENT_IMG=$(resolved RELATED_IMAGE_MEMCACHED_AGENT)
	MEMCACHED_IMAGE=$(resolved RELATED_IMAGE_MEMCACHED)
	all_pinned || fail "An image has no digest although USE_IMAGE_DIGESTS is true: set IMG, AGENT_IMG and MEMCACHED_IMAGE as name@sha256:..."
	rm -rf "${work:?}"/*
}

BUNDLE_DIR=${BUNDLE_DIR:-bundle}
check_input
work=$(mktemp -d)
trap 'rm -rf "${work}" "${BUNDLE_DIR}.new"' EXIT
name=$(basename "${BUNDLE_DIR}")
pinned=${USE_IMAGE_DIGESTS:-false}
csv=${work}/${name}/manifests/${package}.clusterserviceversion.yaml
if [[ "${pinned}" == true ]] && ! all_pinned; then
	look_up_digests
fi
copy_config
generate || fail "The bundle cannot be generated, fix what kustomize or operator-sdk names: $(cause)"
# operator-sdk writes the current time, which would make every bundle different.
put "${csv}" createdAt "${created}"
# operator-sdk lists only the images in environment variables, but a mirror also needs the operator's image.
sed -i "s#^  relatedImages:\$#&\n  - image: ${IMG}\n    name: memcached-operator#" "${csv}"
label_openshift
quietly "${OPERATOR_SDK}" bundle validate "${work}/${name}" --select-optional suite=operatorframework ||
	fail "The bundle is not valid, fix what operator-sdk names: $(cause)"
rm -rf "${BUNDLE_DIR}.new"
cp -R "${work}/${name}" "${BUNDLE_DIR}.new"
rm -rf "${BUNDLE_DIR}"
mv "${BUNDLE_DIR}.new" "${BUNDLE_DIR}"
cp "${work}/bundle.Dockerfile" "${BUNDLE_DIR}.Dockerfile"
echo "${BUNDLE_DIR} contains the bundle ${package}.v${VERSION} of ${IMG}, in the channels ${CHANNELS}."
