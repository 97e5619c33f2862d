#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Tells the story of the demo where it can be told best: on a real node, of a local cluster that is ended afterwards, if this
# machine can run one, else on simulated nodes. DEMO_NODES=simulated wants the latter in any case.
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
	# Ctrl-C is for the demo to act on.
	trap : INT
	bin/cluster --name "${CLUSTER}" exec bin/demo --deploy "$(cat bin/images/operator)" --cluster "${CLUSTER}"
else
	echo "The demo runs on simulated nodes. ${reason:-}"
	hack/binaries.sh etcd kube-apiserver kube-controller-manager kube-scheduler kwok
	"${make[@]}" build
	go build -o bin/demo ./hack/demo
	bin/demo
fi
