#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs metrics-server, which autoscalers need. The local cluster has it only during the test of autoscalers: while its APIService is
# unavailable, the deletion of every namespace is delayed.
#   hack/cluster/autoscaling.sh build          builds the image of metrics-server and gets the CRDs of KEDA
#   hack/cluster/autoscaling.sh install FILE   installs metrics-server; FILE has the CA certificate of the cluster
#   hack/cluster/autoscaling.sh uninstall      removes metrics-server
#   hack/cluster/autoscaling.sh keda-crd       prints the file with the CRD of KEDA's ScaledObject
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

source hack/cluster/buildah.sh
if [[ $1 == build ]]; then
	isolate_mounts "$@"
fi

image=registry.k8s.io/metrics-server/metrics-server:local
# Only KEDA's CRDs are used.
keda=github.com/kedacore/keda/v2@v2.21.0

build() {
	local context=${images}/metrics-server
	mkdir -p "${context}"
	cp bin/kubernetes/metrics-server "${context}"
	build_image "${image}" "$(fingerprint_of "$0" bin/kubernetes/metrics-server)" "${context}" --file - <<-'END'
		FROM scratch
		COPY metrics-server /metrics-server
		ENTRYPOINT ["/metrics-server"]
	END
	go mod download "${keda}"
}

# Prints the manifests of metrics-server, with changes: it measures as often as possible, waits less for kubelets, and has a readiness
# probe every second.
manifests() {
	local module
	module=$(cd hack/kubernetes && go list -m -f '{{.Dir}}' sigs.k8s.io/metrics-server)
	# The module's kustomization uses a field about which kubectl warns.
	kubectl kustomize "${module}/manifests/base" 2>/dev/null | sed -e "s|image: .*|image: ${image}|" \
		-e 's|\( *\)- --metric-resolution=.*|\1- --metric-resolution=10s\n\1- --kubelet-request-timeout=5s|' \
		-e '/readinessProbe:/,/resources:/ { s|initialDelaySeconds: .*|initialDelaySeconds: 1|; s|periodSeconds: .*|periodSeconds: 1| }'
}

case $1 in
build) build ;;
install)
	trust "$2"
	push "${image}" "${image}"
	manifests | kubectl apply --server-side --filename - >/dev/null
	kubectl --namespace kube-system rollout status deployment/metrics-server --timeout=2m
	kubectl wait apiservice/v1beta1.metrics.k8s.io --for=condition=Available --timeout=1m
	;;
uninstall) manifests | kubectl delete --ignore-not-found --filename - ;;
keda-crd) echo "$(go env GOMODCACHE)/${keda}/config/crd/bases/keda.sh_scaledobjects.yaml" ;;
*)
	echo "unknown command $1" >&2
	exit 2
	;;
esac
