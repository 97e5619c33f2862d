#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the demo: on the real node of a local cluster if this machine supports one, otherwise on simulated nodes. The local cluster
# is stopped afterwards. DEMO_NODES=simulated always selects simulated nodes.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

make=("${MAKE:-make}" --no-print-directory)
export CLUSTER=demo

if [[ "${DEMO_NODES:-}" != simulated ]] && reason=$(hack/cluster/packages.sh check 2>&1); then
	echo "The demo runs on a real node. (DEMO_NODES=simulated make demo needs no root.)"
	"${make[@]}" cluster-up
	"${make[@]}" --silent kustomize
	trap 'bin/cluster --name "${CLUSTER}" down' EXIT
	go build -o bin/demo ./hack/demo
	# The demo handles Ctrl-C.
	trap : INT
	bin/cluster --name "${CLUSTER}" exec bin/demo --deploy "$(cat bin/images/operator)" --cluster "${CLUSTER}"
else
	echo "The demo runs on simulated nodes. ${reason:-}"
	hack/binaries.sh etcd kube-apiserver kube-controller-manager kube-scheduler kwok
	"${make[@]}" build
	go build -o bin/demo ./hack/demo
	bin/demo
fi
