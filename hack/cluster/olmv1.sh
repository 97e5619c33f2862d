#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# OLM v1 on the local cluster, in the version that docs/operations/images.txt lists:
#   hack/cluster/olmv1.sh check           fails if something is missing, such as the commands of OLM v1 in bin/kubernetes
#   hack/cluster/olmv1.sh build           builds images of these commands, and renders the manifests, in bin/images
#   hack/cluster/olmv1.sh push FILE       pushes the images to the registry of the cluster, whose CA certificate is in FILE
#   hack/cluster/olmv1.sh install FILE    installs OLM v1 on the cluster of KUBECONFIG and waits until it works
# make cluster-olm-v1 calls this script.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

source hack/cluster/buildah.sh
if [[ $1 == build ]]; then
	isolate_mounts "$@"
fi
commands=(operator-controller catalogd)
manifests=${images}/olmv1.yaml

# image_of COMMAND prints the name of the command's image.
image_of() { awk -v name="quay.io/operator-framework/$1:" 'index($1, name) == 1 { print $1; exit }' docs/operations/images.txt; }

check() {
	local command
	if ! command -v openssl >/dev/null; then
		echo "openssl is missing. It makes the certificate of OLM v1: install the package openssl." >&2
		return 1
	fi
	for command in "${commands[@]}"; do
		if [[ ! -x bin/kubernetes/${command} ]]; then
			cat >&2 <<-END
				bin/kubernetes/${command} is missing. It is taken from its image as it was released:
				  id=\$(docker create $(image_of "${command}")) && docker cp "\$id:/${command}" bin/kubernetes/ && docker rm "\$id"
			END
			return 1
		fi
	done
}

# The images equal the released ones, except that registries.conf makes them use the registry of the cluster.
build_images() {
	local command context
	for command in "${commands[@]}"; do
		context=${images}/${command}
		mkdir -p "${context}"
		cp "bin/kubernetes/${command}" hack/cluster/olm/registries.conf "${context}"
		build_image "$(image_of "${command}")" "$(fingerprint_of "$0" "${context}")" "${context}" --file - <<-END
			FROM scratch
			COPY ${command} /${command}
			COPY registries.conf /etc/containers/registries.conf
			WORKDIR /
			USER 65532:65532
			ENTRYPOINT ["/${command}"]
		END
	done
}

# Renders the chart in the module of OLM v1, without the objects for cert-manager.
render() {
	local controller module
	controller=$(image_of operator-controller)
	module=$(go mod download -json "github.com/operator-framework/operator-controller@${controller##*:}" | awk -F '"' '$2 == "Dir" { print $4 }')
	bin/kubernetes/helm template olmv1 "${module}/helm/olmv1" --values hack/cluster/olm/v1.yaml \
		--set "options.operatorController.deployment.image=${controller},options.catalogd.deployment.image=$(image_of catalogd)" |
		awk 'BEGIN { RS = ORS = "\n---\n" } !/\napiVersion: cert-manager.io\//' >"${manifests}"
}

# install FILE installs OLM v1. Both Services use the same self-signed certificate. OLM v1 trusts this certificate and FILE, the CA
# certificate of the registry.
install() {
	local namespace=olmv1-system secret
	# Not local, because the trap runs after the function has returned.
	folder=$(mktemp -d)
	trap 'rm -rf "${folder}"' EXIT
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=olmv1 \
		-addext "subjectAltName=DNS:catalogd-service.${namespace}.svc,DNS:operator-controller-service.${namespace}.svc" \
		-keyout "${folder}/tls.key" -out "${folder}/tls.crt" 2>/dev/null
	cat "${folder}/tls.crt" "$1" >"${folder}/ca.crt"
	kubectl apply --server-side --filename "${manifests}" >/dev/null
	for secret in operator-controller-cert catalogd-service-cert-git-version; do
		kubectl --namespace "${namespace}" create secret generic "${secret}" --from-file="${folder}" --dry-run=client --output=yaml |
			kubectl apply --server-side --filename - >/dev/null
	done
	kubectl patch mutatingwebhookconfiguration catalogd-mutating-webhook-configuration --type=json \
		--patch "[{op: add, path: /webhooks/0/clientConfig/caBundle, value: $(base64 --wrap=0 "${folder}/tls.crt")}]" >/dev/null
	kubectl --namespace "${namespace}" rollout status deployment --timeout=2m
}

case $1 in
check) check ;;
build)
	build_images
	render
	;;
push)
	trust "$2"
	for command in "${commands[@]}"; do push "$(image_of "${command}")" "$(image_of "${command}")"; done
	;;
install) install "$2" ;;
*)
	echo "unknown command $1" >&2
	exit 2
	;;
esac
