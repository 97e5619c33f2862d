#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the demo on the real node of a local cluster, which is stopped afterwards. As root on Debian or a derivative, it first installs the
# packages that the cluster needs. Elsewhere, or with SIMULATED=1, the demo runs on simulated nodes.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

hack/cluster/packages.sh cluster 2>/dev/null || true
simulated=${SIMULATED:-}
reason=$(hack/cluster/packages.sh check 2>&1) || simulated=1
make=("${MAKE:-make}" --no-print-directory)
export CLUSTER=demo

# Users end the demo with Ctrl-C, so that is not a failure, except with DEMO_EXIT=1.
interrupted=130
finish() {
	local status=$?
	trap - EXIT
	if [[ -z "${simulated}" && -x bin/cluster ]]; then
		bin/cluster --name "${CLUSTER}" down || status=1
	fi
	if [[ ${status} -eq ${interrupted} && "${DEMO_EXIT:-}" != 1 ]]; then
		status=0
	fi
	if [[ ${status} -eq 0 ]]; then
		cat <<-'NEXT'

			Everything of the demo is stopped and removed. Next:
			  make cluster-up        starts a cluster to keep, as root on Debian, and prints how to deploy to it
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

if [[ -n "${simulated}" ]]; then
	cat <<-ELSEWHERE
		On simulated nodes: no memcached runs, so nothing is stored. ${reason%% Without it,*}
		For a real node, run make demo as root on Debian or a derivative, or in a container:
		  docker run --rm -it --privileged --cgroupns=host -e GOFLAGS=-buildvcs=false -v "\$PWD":/src -w /src golang:1.26.8 make demo
	ELSEWHERE
	hack/binaries.sh
	echo "Building the operator and the demo."
	go build -o bin/manager .
	go build -o bin/demo ./hack/demo
	PATH=${PWD}/bin/kubernetes:${PATH} bin/demo -simulated
else
	"${make[@]}" cluster-up
	echo "Building the demo."
	go build -o bin/demo ./hack/demo
	bin/cluster --name "${CLUSTER}" exec bin/demo --image "$(cat bin/images/operator)" --cluster "${CLUSTER}"
fi
