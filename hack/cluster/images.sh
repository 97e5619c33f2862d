#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# The images of the local cluster, which can reach only its own registry:
#   hack/cluster/images.sh build       builds them in bin/images and skips images that are up to date
#   hack/cluster/images.sh push FILE   pushes them to the registry of the cluster, whose CA certificate is in FILE
# The operator is built from the project's Dockerfile, with stand-ins for its base images.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

source hack/cluster/buildah.sh
if [[ $1 == build ]]; then
	isolate_mounts "$@"
fi

memcached_image=$(awk '/name: RELATED_IMAGE_MEMCACHED/ { getline; print $2; exit }' config/manager/manager.yaml)
# The operator says which version it is: the one in preparation, as in every other build of the checkout.
version=$(sed -n 's/^VERSION ?= //p' Makefile)
# The tag of the operator's image changes with its content, because a node does not pull a tag that it already has.
sources=$(fingerprint_of Dockerfile go.mod go.sum main.go api controllers internal)
operator_image=example.com/memcached-operator:v${version}-${sources%%-*}
upgraded_image=${operator_image}-upgraded

# Prints the images to push.
list() {
	cat <<-END
		localhost:5000/pause:local
		registry.k8s.io/coredns/coredns:local
		${memcached_image}
		${operator_image}
		${upgraded_image}
	END
}

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

# The memcached of Debian 12 is too old, so the packages come from a later release and are unpacked outside the system.
memcached_packages=(
	memcached libc6 libevent-2.1-7t64 libsasl2-2 libdb5.3t64 libssl3t64 libzstd1 zlib1g libgcc-s1 libseccomp2 liblua5.4-0
)

download_memcached() {
	local context=$1 archive
	archive=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources 2>/dev/null | grep -v security | head -1 || true)
	if [[ -z ${archive} ]]; then
		archive=$(awk '$1 == "deb" && $0 !~ /security/ { for (i = 2; i <= NF; i++) if ($i ~ "://") { print $i; exit } }' /etc/apt/sources.list)
	fi
	rm -rf "${context}"
	mkdir -p "${context}"/{lists/partial,cache/archives/partial,debs,rootfs/usr/lib,rootfs/usr/lib64}
	echo "deb [trusted=yes] ${archive} forky main" >"${context}/sources.list"
	local apt=(apt-get -qq -o "Dir::Etc::SourceList=${context}/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o "Dir::State::Lists=${context}/lists" -o "Dir::Cache=${context}/cache" -o Dir::State::status=/dev/null
		-o APT::Sandbox::User=root)
	"${apt[@]}" update
	(cd "${context}/debs" && "${apt[@]}" download "${memcached_packages[@]}")
	ln -s usr/lib "${context}/rootfs/lib"
	ln -s usr/lib64 "${context}/rootfs/lib64"
	local deb
	for deb in "${context}"/debs/*.deb; do
		dpkg-deb --fsys-tarfile "${deb}" | tar --extract --keep-directory-symlink --directory "${context}/rootfs"
	done
	rm -rf "${context:?}"/{lists,cache,debs} "${context}/rootfs/usr/share/"{doc,man,locale}
}

# Like the official image, this one has a shell and the usual commands, a numeric user, and memcached in its PATH.
build_memcached() {
	local context=${images}/memcached version wanted=${memcached_image##*:}
	local fingerprint
	fingerprint=$(fingerprint_of "$0")
	if [[ "$(cat "${context}/.stamp" 2>/dev/null)" != "${fingerprint}" ]]; then
		download_memcached "${context}"
		version=$(chroot "${context}/rootfs" /usr/bin/memcached -V | awk '{ print $2 }')
		if [[ "$(printf '%s\n' "${wanted}" "${version}" | sort -V | head -1)" != "${wanted}" ]]; then
			echo "Debian has memcached ${version}, but ${memcached_image} is wanted." >&2
			return 1
		fi
		mkdir -p "${context}/rootfs/bin"
		cp /bin/busybox "${context}/rootfs/bin"
		local applet
		for applet in sh cat id touch ls kill ps; do ln -sf busybox "${context}/rootfs/bin/${applet}"; done
		echo "${fingerprint}" >"${context}/.stamp"
	fi
	build_image "${memcached_image}" "${fingerprint}" "${context}" --file - <<-'END'
		FROM scratch
		COPY rootfs/ /
		ENV PATH=/usr/local/bin:/usr/bin:/bin
		USER 11211:11211
		CMD ["memcached"]
	END
}

# The stand-ins contain what the Dockerfile uses of its base images: the first has a shell and this machine's Go, the second an
# empty file system and a user.
build_operators() {
	local context=${images}/base base
	mkdir -p "${context}"
	cp /bin/busybox "${context}"
	echo nonroot:x:65532:65532:nonroot:/:/sbin/nologin >"${context}/passwd"
	base=$(fingerprint_of "$0" /bin/busybox)
	build_image docker.io/library/golang:1.26 "${base}" "${context}" --file - <<-'END'
		FROM scratch
		COPY busybox /bin/sh
		ENV PATH=/usr/local/go/bin:/bin GOPATH=/go GOCACHE=/cache GOPROXY=off GOTOOLCHAIN=local GOFLAGS=-buildvcs=false
		WORKDIR /tmp
	END
	build_image gcr.io/distroless/static:nonroot "${base}" "${context}" --file - <<-'END'
		FROM scratch
		COPY passwd /etc/passwd
		USER 65532
	END
	build_operator "${operator_image}" "${sources}" . "${version}"
	build_operator "${upgraded_image}" "${sources}" . "${version}-upgraded"
	echo "${operator_image}" >"${images}/operator"
}

case $1 in
build)
	build_pause
	build_coredns
	build_memcached
	build_operators
	;;
push)
	trust "$2"
	while read -r image; do
		push "${image}" "${image}"
	done < <(list)
	# Another name for the same memcached, for tests that change the image.
	push "${memcached_image}" "${memcached_image}-alpine"
	;;
*)
	echo "unknown command $1" >&2
	exit 2
	;;
esac
