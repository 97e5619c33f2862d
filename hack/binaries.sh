#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Provides the commands of a Kubernetes cluster in bin/kubernetes:
#   hack/binaries.sh [etcd | kube-apiserver | kubelet | coredns | ...]...
# Without arguments, it provides what the simulated cluster needs. It downloads what kubernetes/published.sha256 pins, and compiles the
# others, and what cannot be downloaded, from pinned modules. It skips commands that are up to date. All checkouts of this user share a
# cache of the results, which drops results that nothing has used for 30 days. BINARIES_MIRROR is the URL of a folder with the published
# archives, such as BINARIES_MIRROR=http://mirror/ for http://mirror/dl.k8s.io/...
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
mkdir -p ../bin/kubernetes
out=$(cd ../bin/kubernetes && pwd)
cache=${BINARIES_CACHE:-${HOME}/.cache/memcached-operator}
mkdir -p "${cache}"
find "${cache}" -mindepth 1 -maxdepth 1 -mtime +30 -exec rm -rf {} +

# Prints the folder with the module that pins a command, and the command's package.
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
	*) echo "unknown command $1" >&2 && return 1 ;;
	esac
}
package_of() { source_of "$1" | cut --delimiter=" " --fields=2; }
file_of() { basename "$(package_of "$1" | sed 's|/v[0-9]$||')"; } # the name that go build gives to the command

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
# The first flags are those of the Makefile: what the operator also uses is compiled only once. The second turn inlining off in packages that
# only Kubernetes uses, which then compile faster.
gcflags=(-gcflags all=-dwarf=false -gcflags "k8s.io/kubernetes/...=-l -dwarf=false")
# This tag checks image signatures with Go code instead of a C library.
tags=containers_image_openpgp

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
	cd "$1"
	export GOTMPDIR CGO_ENABLED=0 GOWORK=off
	export GOGC=400 GOMEMLIMIT=1GiB # the compiler spends less time on collecting garbage
	total=$(go list -deps -tags "${tags}" "${@:3}" 2>/dev/null | wc -l) || true # go build says what is wrong
	go build -v -trimpath -tags "${tags}" "${gcflags[@]}" -ldflags "${ldflags}" -o "$2/" "${@:3}" 2>&1 |
		awk -v total="${total}" -v terminal="$([[ ! -t 1 ]] || echo yes)" "${progress}"
}

# download FOLDER takes the commands out of each published archive that has a missing one of the array "built". It stops when an archive cannot
# be downloaded, or is not the pinned one.
download() (
	tmp=$(mktemp -d "$1/.download.XXXXXX")
	trap 'rm -rf "${tmp}"' EXIT
	if [[ -t 1 ]]; then progress=--progress-bar; else progress=--silent; fi
	grep -- "-$(go env GOOS)-$(go env GOARCH)[.]" kubernetes/published.sha256 | while read -r checksum address contents; do
		missing=()
		for command in ${contents}; do
			if [[ -n "${built[${command}]:-}" && ! -x "${built[${command}]}" ]]; then missing+=("${command}"); fi
		done
		if [[ ${#missing[@]} -eq 0 ]]; then continue; fi
		address=${BINARIES_MIRROR:-https://}${address}
		echo "Downloading ${missing[*]} from ${address}"
		curl --fail --location --show-error "${progress}" --connect-timeout 5 --speed-time 30 --speed-limit 10000 --output "${tmp}/archive" \
			"${address}" || exit
		if ! sha256sum --check --status <<<"${checksum}  ${tmp}/archive"; then
			echo "This is not the archive that hack/kubernetes/published.sha256 pins. It is not used." >&2
			exit 1
		fi
		read -ra members <<<"${contents}"
		tar --extract --no-same-owner --file "${tmp}/archive" --directory "${tmp}" --transform 's|.*/||' --wildcards "${members[@]/#/*/}" || exit
		for command in "${members[@]}"; do mv "${tmp}/${command}" "$1/$(file_of "${command}")"; done
	done
)

# provide MODULE COMMAND... provides commands of a module in bin/kubernetes.
provide() {
	local module=$1 command fingerprint folder missing=() packages=()
	local -A built=()
	fingerprint=$( (echo "$1" && cat binaries.sh kubernetes/published.sha256 kubernetes/coredns/*.go "$1"/go.* && go version) | cksum | tr " " -)
	folder=${cache}/${fingerprint}
	mkdir -p "${folder}" && touch "${folder}"
	exec {lock}>"${folder}/.lock" && flock "${lock}" # two suites may need the same commands at the same time
	for command in "${@:2}"; do
		if [[ -x "${out}/${command}" && "$(cat "${out}/.${command}.stamp" 2>/dev/null)" == "${fingerprint}" ]]; then continue; fi
		built[${command}]=${folder}/$(file_of "${command}")
	done
	download "${folder}" || true
	for command in "${!built[@]}"; do
		[[ -x "${built[${command}]}" ]] || { missing+=("${command}") && packages+=("$(package_of "${command}")"); }
	done
	if [[ ${#packages[@]} -gt 0 ]]; then
		echo "Building ${missing[*]}: the first build takes minutes, later ones take seconds."
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

[[ $# -gt 0 ]] || set -- etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok
declare -A commands=()
for command in "$@"; do
	source=$(source_of "${command}")
	commands[${source%% *}]+=" ${command}"
done
for module in "${!commands[@]}"; do
	read -ra of_module <<<"${commands[${module}]}"
	provide "${module}" "${of_module[@]}"
done
