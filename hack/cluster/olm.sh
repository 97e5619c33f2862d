#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# The Operator Lifecycle Manager on the local cluster:
#   hack/cluster/olm.sh build       builds the images of OLM, and the bundles and catalogs of the project, in bin/images
#   hack/cluster/olm.sh install     installs OLM on the cluster of KUBECONFIG and waits until it works
# make cluster-olm calls this script; bundle.mk and olm.mk describe the variables.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

source hack/cluster/buildah.sh
if [[ $1 == build ]]; then
	isolate_mounts "$@"
fi
binaries=bin/kubernetes

# The stand-ins for the images of OLM and of operator-sdk, which olm/v0.yaml and test/olm name as well.
olm_image=quay.io/operator-framework/olm:local
opm_image=quay.io/operator-framework/opm:$(awk '/operator-registry v/ { print $2; exit }' hack/olm/go.mod)
default_opm_image=quay.io/operator-framework/opm:latest
shell_image=registry.access.redhat.com/ubi9/ubi:9.8
scorecard_test_image=$(awk '$1 == "image:" { print $2; exit }' bundle/tests/scorecard/config.yaml)
untar_image=quay.io/operator-framework/scorecard-untar:local

# The images of a simulated next version. It has the same operator as the checkout, and its catalog upgrades the checkout to it.
next_image=${IMG%:*}:v${NEXT_VERSION}
next_bundle_image=${BUNDLE_IMG%:*}:v${NEXT_VERSION}
next_catalog_image=${CATALOG_IMG%:*}:v${NEXT_VERSION}

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
	push "${opm_image}" "${default_opm_image}"
	build_commands "${scorecard_test_image}" scorecard-test </dev/null
	build_commands "${shell_image}" </dev/null
	push "${shell_image}" "${untar_image}"
}

# quietly ARGUMENT... runs make with these arguments, and prints the output only if make fails.
quietly() {
	if ! make --no-print-directory "$@" CONTAINER_TOOL=hack/cluster/container.sh OPM_IMG="${opm_image}" >"${images}/make.log" 2>&1; then
		cat "${images}/make.log" >&2
		return 1
	fi
}

# Builds the checkout's operator, and its bundle and catalog with the make targets that users run.
build_project() {
	build_operator "${IMG}" "$(fingerprint_of Dockerfile hack/licenses.sh go.mod go.sum main.go api cmd controllers internal)" "${VERSION}"
	quietly bundle-build bundle-push catalog-build catalog-push
}

# Builds the next version, and a catalog in which it upgrades the version of the checkout.
build_next() {
	local context=${images}/next entry="- name: memcached-operator.v"
	rm -rf "${context}"
	mkdir -p "${context}"
	push "${IMG}" "${next_image}"
	push "$(agent_of "${IMG}")" "$(agent_of "${next_image}")"
	quietly bundle bundle-build bundle-push VERSION="${NEXT_VERSION}" IMG="${next_image}" BUNDLE_DIR="${context}/bundle" \
		BUNDLE_IMG="${next_bundle_image}"
	sed "s/^${entry}${VERSION}\$/&\n${entry}${NEXT_VERSION}\n  replaces: memcached-operator.v${VERSION}/" catalog/template.yaml \
		>"${context}/template.yaml"
	quietly catalog catalog-build catalog-push CATALOG_TEMPLATE="${context}/template.yaml" CATALOG_BUNDLES="bundle ${context}/bundle" \
		CATALOG_DIR="${context}/catalog/memcached-operator" CATALOG_IMG="${next_catalog_image}"
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
	build_olm
	build_project
	build_next
	;;
install) install ;;
*)
	echo "unknown command $1" >&2
	exit 2
	;;
esac
