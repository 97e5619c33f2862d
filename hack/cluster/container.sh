#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Takes the place of docker and podman in make targets that use the images of the local cluster:
#   make bundle-build CONTAINER_TOOL=hack/cluster/container.sh
#   hack/cluster/container.sh build ARGUMENT... CONTEXT
#   hack/cluster/container.sh push IMAGE   to the registry of the local clusters
set -o errexit -o nounset -o pipefail

source hack/cluster/buildah.sh
isolate_mounts "$@"
command=$1
case ${command} in
build)
	shift
	go_arguments
	buildah build --quiet --pull-never "${arguments[@]}" "$@"
	;;
push) push "$2" "$2" ;;
*)
	echo "unknown command ${command}" >&2
	exit 2
	;;
esac
