#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints the directory with the etcd, kube-apiserver and kubectl that the tests start, and provides them if necessary. It is
# KUBEBUILDER_ASSETS, if that is set. If ENVTEST_K8S_VERSION is set, the API server has that version, which is built once:
#   1.30.14
#   1.30.x       the last patch release, or one that has been built before
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ -n "${KUBEBUILDER_ASSETS:-}" ]]; then
	echo "${KUBEBUILDER_ASSETS}"
	exit
fi
version=${ENVTEST_K8S_VERSION:-}
if [[ -n "${version}" ]]; then hack/binaries.sh etcd kubectl >&2; else hack/binaries.sh etcd kube-apiserver kubectl >&2; fi
for built in bin/kubernetes${version:+-${version/%x/*}}/kube-apiserver; do
	if [[ -x "${built}" ]]; then
		dirname "${PWD}/${built}"
		exit
	fi
done

if [[ "${version}" == *.x ]]; then
	releases=$(go list -m -versions -f '{{range .Versions}}{{println .}}{{end}}' k8s.io/kubernetes)
	version=$(grep -x "v${version%x}[0-9]*" <<<"${releases}" | tail -n 1)
	version=${version#v}
fi
out=${PWD}/bin/kubernetes-${version}
mkdir -p "${out}"
ln -sf ../kubernetes/etcd ../kubernetes/kubectl "${out}"
echo "Building kube-apiserver ${version}, which takes some minutes once." >&2
module=$(mktemp -d)
trap 'rm -rf "${module}"' EXIT
cd "${module}"

# The go.mod of Kubernetes pins all modules except those in the tree of Kubernetes itself, such as k8s.io/api. For these, this build
# uses the published versions. It has no go.sum, so Go verifies the modules with the checksum database.
pinned=$(go mod download -json "k8s.io/kubernetes@v${version}" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
{
	echo "module kube-apiserver"
	grep '^go ' "${pinned}"
	echo "require k8s.io/kubernetes v${version}"
	awk -v version="v0.${version#1.}" '/^\tk8s[.]io\// && $2 == "v0.0.0" { print "replace", $1, "=>", $1, version }' "${pinned}"
} >go.mod
variable=k8s.io/component-base/version
ldflags="-s -w -X ${variable}.gitVersion=v${version} -X ${variable}.gitMajor=1 -X ${variable}.gitMinor=$(cut -d . -f 2 <<<"${version}")"
CGO_ENABLED=0 GOWORK=off go build -mod=mod -trimpath -gcflags "all=-l -dwarf=false" -ldflags "${ldflags}" \
	-o "${out}" k8s.io/kubernetes/cmd/kube-apiserver >&2
echo "${out}"
