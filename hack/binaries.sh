#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the commands of a Kubernetes cluster from pinned modules, into bin/kubernetes:
#   hack/binaries.sh [etcd | kube-apiserver | kubelet | containerd | ...]...
# Without arguments, it builds what the simulated cluster needs. It skips commands that are up to date. All checkouts of this user
# share a cache of the results, which drops results that no build has used for 30 days.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
mkdir -p ../bin/kubernetes
out=$(cd ../bin/kubernetes && pwd)
cache=${BINARIES_CACHE:-${HOME}/.cache/memcached-operator}
mkdir -p "${cache}"
find "${cache}" -mindepth 1 -maxdepth 1 -mtime +30 -exec rm -rf {} +

# Prints what pins a command, and the command's package. It is a folder with a module, or a module and its version.
source_of() {
	case $1 in
	etcd) echo kubernetes go.etcd.io/etcd/server/v3 ;;
	kube*) echo kubernetes "k8s.io/kubernetes/cmd/$1" ;;
	kwok) echo kubernetes sigs.k8s.io/kwok/cmd/kwok ;;
	metrics-server) echo kubernetes sigs.k8s.io/metrics-server/cmd/metrics-server ;;
	containerd | containerd-shim-runc-v2) echo node "github.com/containerd/containerd/v2/cmd/$1" ;;
	registry) echo node github.com/distribution/distribution/v3/cmd/registry ;;
	coredns) echo node ./coredns ;;
	olm | catalog | package-server) echo olm "github.com/operator-framework/operator-lifecycle-manager/cmd/$1" ;;
	cpb) echo olm github.com/operator-framework/operator-lifecycle-manager/util/cpb ;;
	opm) echo olm github.com/operator-framework/operator-registry/cmd/opm ;;
	operator-sdk) echo olm github.com/operator-framework/operator-sdk/cmd/operator-sdk ;;
	scorecard-test) echo olm github.com/operator-framework/operator-sdk/images/scorecard-test ;;
	grpc_health_probe) echo olm github.com/grpc-ecosystem/grpc-health-probe ;;
	helm) echo helm helm.sh/helm/v4/cmd/helm ;;
	promtool) echo github.com/prometheus/prometheus@v0.316.0 ./cmd/promtool ;;
	*) echo "unknown command $1" >&2 && return 1 ;;
	esac
}

# version_in FOLDER MODULE prints the version of a module that a folder pins.
version_in() { awk -v module="$2" '$1 == module { print $2; exit }' "$1/go.mod"; }

# Without these flags, Kubernetes reports version v0.0.0, and operator-sdk reports unknown. Every command is built with all of them: the
# linker ignores flags for variables that a command does not have.
version=$(version_in kubernetes k8s.io/kubernetes)
variable=k8s.io/component-base/version
minor=${version#v1.}
ldflags="-s -w -X ${variable}.gitVersion=${version} -X ${variable}.gitMajor=1 -X ${variable}.gitMinor=${minor%%.*}"
sdk=$(version_in olm github.com/operator-framework/operator-sdk)
variable=github.com/operator-framework/operator-sdk/internal/version
ldflags+=" -X ${variable}.Version=${sdk} -X ${variable}.GitVersion=${sdk} -X ${variable}.ImageVersion=${sdk}"
# These tags check image signatures with Go code instead of a C library, and build Prometheus without the discovery of targets in clouds.
tags=containers_image_openpgp,remove_all_sd,enable_kubernetes_sd

# Prints the folder in which to build a command that $1 pins. Prometheus is built in its own module, because its go.sum contains the
# modules of all clouds.
folder_of() {
	case $1 in
	*@*) go mod download -json "$1" | awk -F '"' '$2 == "Dir" { print $4 }' ;;
	*) echo "$1" ;;
	esac
}

# Counts the packages in the output of go build -v, to show progress during minutes of compiling. Other lines are printed.
progress='/^[a-z0-9][^ :]*$/ { if (++n % 200 == 0) { print "    " n " packages compiled"; fflush() }; next } { print; fflush() }'

if [[ $# -eq 0 ]]; then
	set -- etcd kube-apiserver kube-controller-manager kube-scheduler kwok
fi
for command in "$@"; do
	source=$(source_of "${command}")
	read -r module package <<<"${source}"
	# Everything that determines the result of the build.
	sources=(binaries.sh node/coredns/*.go)
	[[ "${module}" == *@* ]] || sources+=("${module}"/go.*)
	fingerprint=$( (cat "${sources[@]}" && go version) | cksum)
	stamp=${out}/.${command}.stamp
	if [[ -x "${out}/${command}" && "$(cat "${stamp}" 2>/dev/null)" == "${fingerprint}" ]]; then
		continue
	fi
	rm -f "${stamp}" "${out}/${command}"
	cached=${cache}/${command}-${fingerprint// /-}
	if [[ ! -x "${cached}/${command}" ]]; then
		echo "Building ${command}: the first build takes minutes, later ones take seconds."
		SECONDS=0
		folder=$(folder_of "${module}")
		(cd "${folder}" && CGO_ENABLED=0 GOWORK=off go build -v -trimpath -tags "${tags}" -ldflags "${ldflags}" -o "${cached}.$$" "${package}" 2>&1) | awk "${progress}"
		mkdir -p "${cached}"
		mv "${cached}.$$" "${cached}/${command}"
		echo "  ${command} built in ${SECONDS} s."
	fi
	touch "${cached}"
	ln "${cached}/${command}" "${out}" 2>/dev/null || cp "${cached}/${command}" "${out}"
	echo "${fingerprint}" >"${stamp}"
done
