#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

# Prints the directory with the etcd, kube-apiserver and kubectl that the tests start. Progress goes to stderr. If KUBEBUILDER_ASSETS is
# set, the script prints its value. Otherwise, it looks for binaries of ENVTEST_K8S_VERSION, in this order: an earlier download by
# setup-envtest; an earlier build; a new download; a new build. A build needs only Go modules and takes some minutes once.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [[ -n "${KUBEBUILDER_ASSETS:-}" ]]; then
	echo "${KUBEBUILDER_ASSETS}"
	exit
fi

version="${ENVTEST_K8S_VERSION:?is set by make: run make test}"
setup_envtest="${ENVTEST:?is set by make: run make test}"
bin_dir="${LOCALBIN:?is set by make: run make test}"

# hack/binaries.sh builds the version of Kubernetes in hack/kubernetes/go.mod. hack/apiserver.sh builds other versions.
pinned=$(awk '$1 == "k8s.io/kubernetes" { print substr($2, 2); exit }' hack/kubernetes/go.mod)
if [[ "${pinned}" == ${version/%x/*} ]]; then
	built=("${PWD}/bin/kubernetes/kube-apiserver")
else
	built=("${PWD}"/bin/kubernetes-${version/%x/*}/kube-apiserver)
fi

# If the control plane has been built or downloaded before, do not wait for the network again.
if [[ -x "${setup_envtest}" ]] && "${setup_envtest}" use "${version}" --installed-only -p path --bin-dir "${bin_dir}" 2>/dev/null; then
	exit
fi
if [[ ! -x "${built[0]}" ]]; then
	if ! [[ -x "${setup_envtest}" ]]; then
		"${MAKE:-make}" --no-print-directory setup-envtest >&2 || true
	fi
	if "${setup_envtest}" use "${version}" -p path --bin-dir "${bin_dir}" 2>/dev/null; then
		exit
	fi
	echo "setup-envtest cannot download Kubernetes ${version}; building it from modules instead, which takes some minutes once." >&2
fi
if [[ "${pinned}" == ${version/%x/*} ]]; then
	hack/binaries.sh etcd kube-apiserver kubectl >&2
	echo "${PWD}/bin/kubernetes"
else
	hack/apiserver.sh "${version}"
fi
