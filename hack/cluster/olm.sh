#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# The Operator Lifecycle Manager on the local cluster:
#   hack/cluster/olm.sh build       builds the images of OLM, and the bundles and catalogs of the project, in bin/images
#   hack/cluster/olm.sh push FILE   pushes them to the registry of the cluster, whose CA certificate is in FILE
#   hack/cluster/olm.sh install     installs OLM on the cluster of KUBECONFIG and waits until it works
# make cluster-olm calls this script; bundle.mk and olm.mk describe the variables.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

source hack/cluster/buildah.sh
if [[ $1 == build ]]; then
	isolate_mounts "$@"
fi
binaries=bin/kubernetes

# standin NAME prints the first image in docs/operations/images.txt whose name begins with NAME. It replaces a digest by the tag local,
# because the stand-in has a different digest.
standin() { awk -v name="$1" 'index($1, name) == 1 { sub(/@.*/, ":local", $1); print $1; exit }' docs/operations/images.txt; }

olm_image=$(standin quay.io/operator-framework/olm@)
opm_image=$(standin quay.io/operator-framework/opm:v)
default_opm_image=$(standin quay.io/operator-framework/opm:latest)
shell_image=$(standin registry.access.redhat.com/ubi9/ubi:)
scorecard_test_image=$(standin quay.io/operator-framework/scorecard-test:)
untar_image=$(standin quay.io/operator-framework/scorecard-untar@)

# The recorded digests belong to published images, and the images in the cluster's registry have others. So the bundle names tags here.
export OPERATOR_DIGEST='' AGENT_DIGEST='' MEMCACHED_DIGEST='' SCORECARD_DIGEST='' BUNDLE_DIGEST=''
bundle=bundle
if grep -q '@sha256:' bundle/manifests/memcached-operator.clusterserviceversion.yaml; then bundle=${images}/tagged/bundle; fi

# The previous version, and the commit or tag from which to build it.
read -r previous commit < <(grep -v '^#' test/olm/previous)
previous_image=${IMG%:*}:v${previous}
previous_bundle_image=${BUNDLE_IMG%:*}:v${previous}
previous_catalog_image=${CATALOG_IMG%:*}:v${previous}
# A catalog in which the checkout's version upgrades the previous version.
upgrades_catalog_image=${CATALOG_IMG}-upgrades

# The images of a simulated next version. It has the same operator as the checkout.
next_image=${IMG%:*}:v${NEXT_VERSION}
next_bundle_image=${BUNDLE_IMG%:*}:v${NEXT_VERSION}
next_catalog_image=${CATALOG_IMG%:*}:v${NEXT_VERSION}

# Prints the images to push.
list() {
	printf '%s\n' "${olm_image}" "${opm_image}" "${default_opm_image}" "${shell_image}" "${scorecard_test_image}" \
		"${untar_image}" "${IMG}" "$(agent_of "${IMG}")" "${BUNDLE_IMG}" "${CATALOG_IMG}" "${SCORECARD_IMG}" "${previous_image}" \
		"${previous_bundle_image}" "${previous_catalog_image}" "${upgrades_catalog_image}" \
		"${next_image}" "$(agent_of "${next_image}")" "${next_bundle_image}" "${next_catalog_image}"
	if has_agent_image "${images}/previous/checkout"; then agent_of "${previous_image}"; fi
}

# build_commands NAME COMMAND... builds an image with a shell and commands from bin/kubernetes, in place of an official image.
# Standard input is appended to its Dockerfile.
build_commands() {
	local name=$1 context applet command stamps=()
	shift
	context=${images}/$(basename "${name%:*}")
	rm -rf "${context}"
	mkdir -p "${context}/rootfs/bin" "${context}/rootfs/tmp"
	cp /bin/busybox "${context}/rootfs/bin"
	for applet in sh cat cp gzip tar; do ln -s busybox "${context}/rootfs/bin/${applet}"; done
	for command in "$@"; do
		ln "${binaries}/${command}" "${context}/rootfs/bin"
		stamps+=("${binaries}/.${command}.stamp")
	done
	{
		echo "FROM scratch"
		echo "COPY rootfs/ /"
		# COPY resets the mode of folders.
		echo 'RUN ["/bin/busybox", "chmod", "1777", "/tmp"]'
		echo "USER 1001:1001"
		cat
	} >"${context}/Dockerfile"
	build_image "${name}" "$(fingerprint_of "$0" /bin/busybox "${stamps[@]}")" "${context}"
}

build_olm() {
	build_commands "${olm_image}" olm catalog package-server cpb </dev/null
	build_commands "${opm_image}" opm grpc_health_probe <<-'END'
		LABEL operators.operatorframework.io.index.configs.v1=/configs
		WORKDIR /configs
		ENTRYPOINT ["/bin/opm"]
	END
	buildah tag "${opm_image}" "${default_opm_image}"
	build_commands "${scorecard_test_image}" scorecard-test </dev/null
	build_commands "${shell_image}" </dev/null
	buildah tag "${shell_image}" "${untar_image}"
}

# quietly ARGUMENT... runs make with these arguments, and prints the output only if make fails.
quietly() {
	if ! make --no-print-directory "$@" CONTAINER_TOOL=hack/cluster/container.sh OPM_IMG="${opm_image}" >"${images}/make.log" 2>&1; then
		cat "${images}/make.log" >&2
		return 1
	fi
}

# Builds the checkout's operator. Builds its scorecard image, bundle and catalog with the make targets that users run.
build_project() {
	build_operator "${IMG}" "$(fingerprint_of Dockerfile go.mod go.sum main.go api cmd controllers internal)" . "${VERSION}"
	quietly scorecard-build
	if [[ "${bundle}" == bundle ]]; then
		quietly bundle-build catalog-build
		return
	fi
	mkdir -p "$(dirname "${bundle}")"
	quietly bundle bundle-build BUNDLE_DIR="${bundle}"
	build_catalog "${CATALOG_IMG}" "$(dirname "${bundle}")" "${bundle}" <<<"${BUNDLE_IMG}"
}

# Without this check, a missing commit would cause an error only after minutes of building.
check_previous() {
	if ! git cat-file -e "${commit}^{commit}" 2>/dev/null; then
		echo "Version ${previous} is built from commit ${commit}, which this clone does not have: get it with git fetch --unshallow." >&2
		return 1
	fi
}

# list_bundles CHANNEL prints the list of a channel for a catalog's template. Standard input names the bundle images.
list_bundles() { sed -e "1i$1:\n  bundles:" -e 's/^/  - image: /'; }

# build_catalog IMAGE FOLDER BUNDLE... builds a catalog in FOLDER from the folders of bundles. Standard input names the bundle images.
# The candidate channel has all of them, and the stable channel only releases.
build_catalog() {
	local image=$1 context=$2 bundles
	shift 2
	bundles=$(cat)
	{
		printf '%s\n' 'schema: olm.semver' 'generateMajorChannels: true'
		list_bundles candidate <<<"${bundles}"
		sed '/:v[0-9.]*-/d' <<<"${bundles}" | list_bundles stable
	} >"${context}/template.yaml"
	mkdir -p "${context}/catalog/memcached-operator"
	quietly catalog catalog-build CATALOG_TEMPLATE="${context}/template.yaml" CATALOG_BUNDLES="$*" \
		CATALOG_DIR="${context}/catalog/memcached-operator" CATALOG_IMG="${image}"
}

# Makes the bundle of the previous version from its sources. Until the first release, the bundle gets the checkout's CRD: nobody has
# stored a Memcached yet, so the CRD may still change in ways that OLM v1 refuses.
make_previous_bundle() {
	quietly --directory "$1/checkout" bundle VERSION="${previous}" IMG="${previous_image}" BUNDLE_DIR="$1/bundle" \
		LOCALBIN="${PWD}/bin" OPERATOR_SDK="${PWD}/${binaries}/operator-sdk"
	if [[ ! -d catalog/bundles ]]; then cp bundle/manifests/*_memcacheds.yaml "$1/bundle/manifests"; fi
}

# name_base_images DOCKERFILE gives the stand-ins the names of the base images in the Dockerfile of an earlier version.
name_base_images() {
	local name
	name=$(grep -o 'docker.io/library/golang:[^ ]*' "$1" | head -1)
	buildah tag "${build_standin}" "${name}"
	name=$(grep -o 'gcr.io/distroless/[^ ]*' "$1" | head -1)
	buildah tag "${base_standin}" "${name}"
}

# Builds the previous version, a catalog that ends with it, and a catalog in which the checkout upgrades it.
build_previous() {
	local context=${images}/previous
	rm -rf "${context}"
	mkdir -p "${context}/checkout"
	git archive "${commit}" | tar --extract --directory "${context}/checkout"
	name_base_images "${context}/checkout/Dockerfile"
	build_operator "${previous_image}" "${commit}" "${context}/checkout" "${previous}"
	make_previous_bundle "${context}"
	build_image "${previous_bundle_image}" "$(fingerprint_of "${context}/bundle")" "${context}" --file "${context}/bundle.Dockerfile"
	build_catalog "${previous_catalog_image}" "${context}" "${context}/bundle" <<<"${previous_bundle_image}"
	mkdir -p "${context}/upgrades"
	build_catalog "${upgrades_catalog_image}" "${context}/upgrades" "${context}/bundle ${bundle}" \
		< <(printf '%s\n' "${previous_bundle_image}" "${BUNDLE_IMG}")
}

# Builds the next version, and a catalog in which it upgrades the version of the checkout.
build_next() {
	local context=${images}/next
	rm -rf "${context}"
	mkdir -p "${context}"
	buildah tag "${IMG}" "${next_image}"
	buildah tag "$(agent_of "${IMG}")" "$(agent_of "${next_image}")"
	quietly bundle bundle-build VERSION="${NEXT_VERSION}" IMG="${next_image}" BUNDLE_DIR="${context}/bundle" BUNDLE_IMG="${next_bundle_image}"
	build_catalog "${next_catalog_image}" "${context}" "${bundle} ${context}/bundle" < <(printf '%s\n' "${BUNDLE_IMG}" "${next_bundle_image}")
}

install() {
	local module
	module=$(cd hack/olm && go list -m -f '{{.Dir}}' github.com/operator-framework/operator-lifecycle-manager)
	# The CRDs are too large for the annotation of a client-side apply.
	kubectl apply --server-side --filename "${module}/deploy/chart/crds" >/dev/null
	kubectl wait --for=condition=Established --filename "${module}/deploy/chart/crds" --timeout=1m >/dev/null
	"${binaries}/helm" template olm "${module}/deploy/chart" --values "${module}/deploy/upstream/values.yaml" \
		--values hack/cluster/olm/v0.yaml | kubectl apply --server-side --filename - >/dev/null
	kubectl --namespace olm rollout status deployment/olm-operator deployment/catalog-operator --timeout=2m
	kubectl --namespace olm wait csv/packageserver --for=jsonpath='{.status.phase}'=Succeeded --timeout=2m
	kubectl wait apiservice/v1.packages.operators.coreos.com --for=condition=Available --timeout=1m
}

case $1 in
build)
	check_previous
	build_olm
	build_project
	build_previous
	build_next
	;;
push)
	trust "$2"
	while read -r image; do push "${image}" "${image}"; done < <(list)
	;;
install) install ;;
*)
	echo "unknown command $1" >&2
	exit 2
	;;
esac
