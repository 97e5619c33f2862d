#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Takes the place of docker and podman in make targets that use the images of the local cluster:
#   make bundle-build CONTAINER_TOOL=hack/cluster/container.sh
#   hack/cluster/container.sh build ARGUMENT... CONTEXT
#   hack/cluster/container.sh push IMAGE   runs in the namespaces of a cluster; CLUSTER_CA is the file with the cluster's CA certificate
set -o errexit -o nounset -o pipefail

source hack/cluster/buildah.sh
command=$1
case ${command} in
build)
	isolate_mounts "$@"
	shift
	go_arguments
	buildah build --quiet --pull-never "${arguments[@]}" "$@"
	;;
push)
	trust "${CLUSTER_CA:?is not set: it must be the file of the CA of the cluster, such as bin/clusters/local/ca.crt}"
	push "$2" "$2"
	;;
*)
	echo "unknown command ${command}" >&2
	exit 2
	;;
esac
