#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds kube-apiserver in another version than hack/kubernetes/go.mod pins, once for each version. The script adds links to the etcd
# and kubectl in bin/kubernetes, and prints the directory of all three:
#   hack/apiserver.sh 1.30.14
#   hack/apiserver.sh 1.30.x       the last patch release, or one that has been built before
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$1

for built in bin/kubernetes-${version/%x/*}/kube-apiserver; do
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
hack/binaries.sh etcd kubectl >&2
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
minor=${version#1.}
ldflags="-s -w -X ${variable}.gitVersion=v${version} -X ${variable}.gitMajor=1 -X ${variable}.gitMinor=${minor%%.*}"
CGO_ENABLED=0 GOWORK=off go build -mod=mod -trimpath -ldflags "${ldflags}" -o "${out}" k8s.io/kubernetes/cmd/kube-apiserver >&2
echo "${out}"
