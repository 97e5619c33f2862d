#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the commands of a Kubernetes cluster from pinned modules, into bin/kubernetes:
#   hack/binaries.sh [etcd | kube-apiserver | kubelet | coredns | ...]...
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
	coredns) echo kubernetes ./coredns ;;
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
# Without inlining and debug information, packages of Kubernetes that nothing else uses compile faster.
gcflags="k8s.io/kubernetes/...=-l -dwarf=false"
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

# Counts the packages in the output of go build -v: on a terminal in one line, otherwise after each 200 packages. Other lines are printed.
progress='
	/^go: downloading / { next }
	!/^[a-z0-9][^ :]*$/ { print; fflush(); next }
	++n && terminal { printf "\r  %d of %d packages compiled", n, total; fflush() }
	!terminal && n % 200 == 0 { print "  " n " of " total " packages compiled"; fflush() }
	END { if (terminal && n) print "" }'

# build MODULE FOLDER PACKAGE... builds commands of a module at once, so that one is linked while packages of the next are compiled.
build() {
	local total
	GOTMPDIR=$(mktemp -d "$2/.build.XXXXXX") # on this file system, go moves commands to the folder, which is atomic
	trap 'rm -rf "${GOTMPDIR}"' EXIT
	cd "$(folder_of "$1")"
	export GOTMPDIR CGO_ENABLED=0 GOWORK=off
	total=$(go list -deps -tags "${tags}" "${@:3}" 2>/dev/null | wc -l)
	go build -v -trimpath -tags "${tags}" -gcflags "${gcflags}" -ldflags "${ldflags}" -o "$2/" "${@:3}" 2>&1 |
		awk -v total="${total}" -v terminal="$([[ ! -t 1 ]] || echo yes)" "${progress}"
}

# provide MODULE COMMAND... provides commands of a module in bin/kubernetes.
provide() {
	local module=$1 sources=(binaries.sh kubernetes/coredns/*.go) command package fingerprint folder packages=()
	local -A built=()
	[[ "${module}" == *@* ]] || sources+=("${module}"/go.*)
	fingerprint=$( (echo "${module}" && cat "${sources[@]}" && go version) | cksum | tr " " -)
	folder=${cache}/${fingerprint}
	mkdir -p "${folder}" && touch "${folder}"
	exec {lock}>"${folder}/.lock" && flock "${lock}" # two suites may need the same commands at the same time
	for command in "${@:2}"; do
		if [[ -x "${out}/${command}" && "$(cat "${out}/.${command}.stamp" 2>/dev/null)" == "${fingerprint}" ]]; then continue; fi
		package=$(source_of "${command}" | cut --delimiter=" " --fields=2)
		built[${command}]=${folder}/$(basename "${package%/v[0-9]}")
		[[ -x "${built[${command}]}" ]] || packages+=("${package}")
	done
	if [[ ${#packages[@]} -gt 0 ]]; then
		echo "Building ${!built[*]}: the first build takes minutes, later ones take seconds."
		SECONDS=0
		(build "${module}" "${folder}" "${packages[@]}")
		echo "  built in ${SECONDS} s."
	fi
	for command in "${!built[@]}"; do
		rm -f "${out}/.${command}.stamp" "${out}/${command}"
		ln "${built[${command}]}" "${out}/${command}" 2>/dev/null || cp "${built[${command}]}" "${out}/${command}"
		echo "${fingerprint}" >"${out}/.${command}.stamp"
	done
}

if [[ $# -eq 0 ]]; then
	set -- etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok
fi
declare -A commands=()
for command in "$@"; do
	source=$(source_of "${command}")
	commands[${source%% *}]+=" ${command}"
done
for module in "${!commands[@]}"; do
	read -ra of_module <<<"${commands[${module}]}"
	provide "${module}" "${of_module[@]}"
done
