#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the images of the local cluster in bin/images, and skips those that are up to date:
#   hack/cluster/images.sh build      builds what every cluster needs
#   hack/cluster/images.sh upgraded   builds the operator in another version, to which tests upgrade
# The operator is built from the project's Dockerfile, with stand-ins for its base images.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

source hack/cluster/buildah.sh
isolate_mounts "$@"

memcached_image=$(awk '/name: RELATED_IMAGE_MEMCACHED$/ { getline; print $2; exit }' config/manager/manager.yaml)
# The operator reports the version in preparation, as in every other build of the checkout.
version=$(sed -n 's/^VERSION ?= //p' Makefile)
# The tag of the operator's image changes with its content, because a node does not pull a tag that it already has.
sources=$(fingerprint_of Dockerfile hack/licenses.sh go.mod go.sum main.go api cmd controllers internal)
operator_image=example.com/memcached-operator:v${version}-${sources%%-*}

build_pause() {
	local context=${images}/pause
	mkdir -p "${context}"
	cp /bin/busybox "${context}"
	build_image localhost:5000/pause:local "$(fingerprint_of "$0" /bin/busybox)" "${context}" --file - <<-'END'
		FROM scratch
		COPY busybox /bin/busybox
		ENTRYPOINT ["/bin/busybox", "sleep", "infinity"]
	END
}

build_coredns() {
	local context=${images}/coredns
	mkdir -p "${context}"
	cp bin/kubernetes/coredns "${context}"
	build_image registry.k8s.io/coredns/coredns:local "$(fingerprint_of "$0" bin/kubernetes/coredns)" "${context}" --file - <<-'END'
		FROM scratch
		COPY coredns /coredns
		USER 65532:65532
		ENTRYPOINT ["/coredns"]
	END
}

# Like the official image, this one has a shell and the usual commands, a numeric user, and memcached in its PATH.
build_memcached() {
	local context=${images}/memcached applet
	hack/memcached.sh unpack
	mkdir -p "${context}/rootfs/bin"
	cp /bin/busybox "${context}/rootfs/bin"
	for applet in sh cat id touch ls kill ps; do ln -sf busybox "${context}/rootfs/bin/${applet}"; done
	build_image "${memcached_image}" "$(fingerprint_of "$0" hack/memcached.sh hack/cluster/debian.sh)" "${context}" --file - <<-'END'
		FROM scratch
		COPY rootfs/ /
		ENV PATH=/usr/local/bin:/usr/bin:/bin
		USER 11211:11211
		CMD ["memcached"]
	END
	# A second name for the same image, for tests that change the image.
	push "${memcached_image}" "${memcached_image}-alpine"
}

# Builds the operator with stand-ins for the base images of its Dockerfile: build_standin has a shell, and settings for the Go that
# go_arguments mounts; base_standin has only a user.
build_operators() {
	local context=${images}/base base
	mkdir -p "${context}"
	cp /bin/busybox "${context}"
	echo nonroot:x:65532:65532:nonroot:/:/sbin/nologin >"${context}/passwd"
	base=$(fingerprint_of "$0" /bin/busybox)
	build_image "${build_standin}" "${base}" "${context}" --file - <<-'END'
		FROM scratch
		COPY busybox /bin/sh
		ENV PATH=/usr/local/go/bin:/bin GOPATH=/go GOCACHE=/cache GOPROXY=off GOTOOLCHAIN=local GOGC=400 GOMEMLIMIT=1GiB \
			GOFLAGS="-buildvcs=false -gcflags=all=-dwarf=false"
		WORKDIR /tmp
	END
	build_image "${base_standin}" "${base}" "${context}" --file - <<-'END'
		FROM scratch
		COPY passwd /etc/passwd
		USER 65532
	END
	build_operator "${operator_image}" "${sources}" "${version}"
	echo "${operator_image}" >"${images}/operator"
}

case $1 in
build)
	build_pause
	build_coredns
	build_memcached
	build_operators
	;;
upgraded) build_operator "${operator_image}-upgraded" "${sources}" "${version}-upgraded" ;;
*)
	echo "unknown command $1" >&2
	exit 2
	;;
esac
