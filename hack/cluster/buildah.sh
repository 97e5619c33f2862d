# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Functions that build and push images of the local cluster, for scripts that run in the root of the repository.

images=${PWD}/bin/images
mkdir -p "${images}"

# Restarts the script in its own mount namespace, so that an interrupted build leaves no mount behind.
isolate_mounts() {
	if [[ -z "${IMAGES_UNSHARED:-}" ]]; then
		IMAGES_UNSHARED=1 exec unshare --mount "$0" "$@"
	fi
}

buildah() {
	BUILDAH_ISOLATION=chroot command buildah --root "${images}/storage" --runroot "${images}/run" --storage-driver overlay "$@"
}

# push IMAGE NAME pushes an image to the registry of the local clusters, which stands in for all other registries. There, the image has the
# name NAME without the registry in front.
push() { buildah push --quiet "$1" "oci:${images}/registry:${2#*/}"; }

# build_image NAME FINGERPRINT CONTEXT [ARGUMENT...] builds and pushes image NAME unless it was built from the same FINGERPRINT before.
build_image() {
	local name=$1 fingerprint=$2 context=$3 stamp
	shift 3
	stamp=${images}/.$(tr -c 'a-z0-9.\n' - <<<"${name}").pushed
	if [[ "$(cat "${stamp}" 2>/dev/null)" == "${fingerprint}" ]] && buildah images --quiet "${name}" >/dev/null 2>&1; then
		return
	fi
	rm -f "${stamp}"
	local start=${SECONDS}
	if ! buildah build --quiet --pull-never --tag "${name}" "$@" "${context}" >"${images}/build.log" 2>&1; then
		cat "${images}/build.log" >&2
		echo "Building the image ${name} failed." >&2
		return 1
	fi
	push "${name}" "${name}"
	echo "${fingerprint}" >"${stamp}"
	echo "  image ${name} built in $((SECONDS - start)) s."
}

fingerprint_of() { find "$@" -type f -print0 | sort -z | xargs -0 cat | cksum | tr ' ' -; }

# The stand-ins that images.sh builds for the base images of the Dockerfiles.
build_standin=docker.io/library/golang:local
base_standin=gcr.io/distroless/static:local

# go_arguments sets the array "arguments" to arguments for buildah. With them, a Dockerfile compiles Go without a network: it uses the
# machine's Go, modules and cache, and the stand-ins.
go_arguments() {
	local arch
	arch=$(go env GOARCH)
	# shellcheck disable=SC2034 # for the caller
	arguments=(--volume "$(go env GOROOT):/usr/local/go:ro" --volume "$(go env GOMODCACHE):/go/pkg/mod"
		--volume "$(go env GOCACHE):/cache" --build-arg "BUILDPLATFORM=linux/${arch}" --build-arg TARGETOS=linux
		--build-arg "TARGETARCH=${arch}" --build-arg "BUILD_IMAGE=${build_standin}" --build-arg "BASE_IMAGE=${base_standin}")
}

# agent_of NAME prints the name of the agent's image that belongs to the operator's image NAME.
agent_of() { echo "${1%:*}-agent:${1##*:}"; }

# build_operator NAME FINGERPRINT VERSION builds the operator and its agent from the Dockerfile.
build_operator() {
	local name=$1 fingerprint=$2 version=$3 arguments
	go mod download
	go_arguments
	build_image "${name}" "${fingerprint}" . "${arguments[@]}" --build-arg "VERSION=${version}"
	build_image "$(agent_of "${name}")" "${fingerprint}" . "${arguments[@]}" --build-arg "VERSION=${version}" --target agent
}
