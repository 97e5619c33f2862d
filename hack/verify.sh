#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

# Checks that all generated files are up to date. It regenerates them in a copy of the checkout and compares. It does not change the
# checkout, which may have uncommitted changes.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

hack/weight.sh

copy="$(mktemp -d)"
trap 'rm -rf "${copy}"' EXIT
mkdir "${copy}/before" "${copy}/after"

# The files that git tracks or would add. Ignored files are not part of the project. Deleted files may still be in the index.
git ls-files -z --cached --others --exclude-standard |
	while IFS= read -r -d '' file; do
		if [[ -e "${file}" || -L "${file}" ]]; then printf '%s\0' "${file}"; fi
	done |
	tar --null -T - -cf - | tar -xf - -C "${copy}/before"
cp -R "${copy}/before/." "${copy}/after"

if grep -rnE '^(<{7}|>{7}) ' "${copy}/before"; then
	echo "A merge left these conflict markers: resolve them." >&2
	exit 1
fi

# The generators must recreate these files. A file that is no longer generated is then missing in the copy.
rm -rf "${copy}"/after/{config/crd/bases,config/rbac/role.yaml,docs/api.md,bundle,bundle.Dockerfile,catalog/memcached-operator,charts/memcached-operator/files}
mkdir "${copy}/after/config/crd/bases"
bin=${LOCALBIN:-${PWD}/bin}
# The committed bundle uses VERSION and IMG of the Makefile, whatever the environment contains.
env -u VERSION -u IMG -u IMAGE_TAG_BASE -u BUNDLE_IMG "${MAKE:-make}" --no-print-directory -C "${copy}/after" \
	LOCALBIN="${bin}" OPERATOR_SDK="${bin}/kubernetes/operator-sdk" OPM="${bin}/kubernetes/opm" generate manifests bundle catalog
for module in . hack/helm hack/kubernetes hack/olm; do
	echo "go mod tidy in ${module}"
	(cd "${copy}/after/${module}" && go mod tidy)
done

if ! (cd "${copy}" && diff -ruN before after); then
	{
		echo
		echo "These files are not what the generators write:"
		(cd "${copy}"; diff -rqN before after || true) | sed -e 's|^Files before/|  |' -e 's| and after/.*||'
		echo "Run: make generate manifests bundle catalog; for go.mod and go.sum: go mod tidy in their directory."
	} >&2
	exit 1
fi
echo "Everything generated is up to date."
