#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the demo: on the real node of a local cluster if this machine supports one, otherwise on simulated nodes. As root on Debian or a
# derivative, it first installs the packages that the local cluster needs. The local cluster is stopped afterwards. DEMO_NODES=simulated
# always selects simulated nodes.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

make=("${MAKE:-make}" --no-print-directory)
export CLUSTER=demo
up=""

# Users end the demo with Ctrl-C, so that is not a failure, except with DEMO_EXIT=1.
interrupted=130
finish() {
	local status=$?
	trap - EXIT
	if [[ -n "${up}" ]]; then
		bin/cluster --name "${CLUSTER}" down || status=1
	fi
	if [[ ${status} -eq ${interrupted} && "${DEMO_EXIT:-}" != 1 ]]; then
		status=0
	fi
	if [[ ${status} -eq 0 ]]; then
		cat <<-'NEXT'

			Everything of the demo is stopped and removed. Next:
			  make cluster-up        starts a cluster to keep (Linux, as root), and prints how to deploy to it
			  make deploy IMG=...    installs the operator on your own cluster: see README.md
		NEXT
	fi
	exit "${status}"
}
trap finish EXIT
trap 'exit ${interrupted}' INT
# On a terminal, each command below gets its own process group. So Ctrl-C does not reach this script and make, which would fail.
if [[ -t 0 && -t 1 ]]; then
	set -o monitor
fi

if [[ "${DEMO_NODES:-}" != simulated ]] && { hack/cluster/packages.sh cluster || true; } 2>/dev/null &&
	reason=$(hack/cluster/packages.sh check 2>&1); then
	echo "The demo runs on a real node. (DEMO_NODES=simulated make demo needs no root.)"
	"${make[@]}" cluster-up
	up=yes
	"${make[@]}" --silent kustomize
	echo "Building the demo."
	go build -o bin/demo ./hack/demo
	bin/cluster --name "${CLUSTER}" exec bin/demo --deploy "$(cat bin/images/operator)" --cluster "${CLUSTER}"
else
	echo "The demo runs on simulated nodes. ${reason:-}"
	hack/binaries.sh etcd kube-apiserver kube-controller-manager kube-scheduler kwok kubectl
	"${make[@]}" build
	echo "Building the demo."
	go build -o bin/demo ./hack/demo
	bin/demo
fi
