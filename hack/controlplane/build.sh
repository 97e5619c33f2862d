#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds control-plane commands from the modules pinned in go.mod beside this script:
#   hack/controlplane/build.sh [etcd | kube-apiserver | kube-controller-manager | kube-scheduler | kwok]...
# Without arguments all of them. They go to bin/controlplane, or to the folder that CONTROLPLANE_DIR names; what is up to
# date there is left alone.
set -euo pipefail

out=${CONTROLPLANE_DIR:-$(dirname "$0")/../../bin/controlplane}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$(dirname "$0")"

package_of() {
	case $1 in
	etcd) echo go.etcd.io/etcd/server/v3 ;;
	kube-*) echo "k8s.io/kubernetes/cmd/$1" ;;
	kwok) echo sigs.k8s.io/kwok/cmd/kwok ;;
	*) echo "unknown command $1" >&2 && return 1 ;;
	esac
}

# Everything that decides what a build produces. Without the version Kubernetes calls itself v0.0.0.
fingerprint=$( (cat go.mod go.sum build.sh && go version) | cksum)
version=$(awk '$1 == "k8s.io/kubernetes" { print $2 }' go.mod)
variable=k8s.io/component-base/version
minor=${version#v1.}
ldflags="-s -w -X $variable.gitVersion=$version -X $variable.gitMajor=1 -X $variable.gitMinor=${minor%%.*}"

# Lines of go build -v that are packages are counted, so that minutes of compiling show progress; others are passed on.
progress='/^[a-z0-9][^ :]*$/ { if (++n % 200 == 0) { print "    " n " packages compiled"; fflush() }; next } { print; fflush() }'

if [ $# -eq 0 ]; then
	set -- etcd kube-apiserver kube-controller-manager kube-scheduler kwok
fi
for command in "$@"; do
	package=$(package_of "$command")
	stamp=$out/.$command.stamp
	if [ -x "$out/$command" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$fingerprint" ]; then
		continue
	fi
	echo "Building $command: the first build compiles it and takes minutes, later ones take seconds."
	rm -f "$stamp"
	SECONDS=0
	CGO_ENABLED=0 GOWORK=off go build -v -trimpath -ldflags "$ldflags" -o "$out/$command" "$package" 2>&1 | awk "$progress"
	echo "$fingerprint" >"$stamp"
	echo "  $command built in $SECONDS s."
done
