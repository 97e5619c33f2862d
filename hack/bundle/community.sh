#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Writes the files of a pull request to each community catalog, from the bundle in BUNDLE_DIR:
#   COMMUNITY_DIR/community-operators        k8s-operatorhub/community-operators, for OperatorHub.io
#   COMMUNITY_DIR/community-operators-prod   redhat-openshift-ecosystem/community-operators-prod, for OpenShift
# Each of the two may be a clone of a fork. make community calls this script; bundle.mk describes the variables.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() {
	echo "$*" >&2
	exit 2
}

package=memcached-operator
csv=${BUNDLE_DIR}/manifests/${package}.clusterserviceversion.yaml

check_input() {
	[[ -f "${csv}" ]] || fail "BUNDLE_DIR is '${BUNDLE_DIR}', which contains no bundle: run make bundle."
	local found
	found=$(sed -n 's/^  version: //p' "${csv}")
	[[ "${found}" == "${VERSION}" ]] || fail "${BUNDLE_DIR} contains version ${found}, but VERSION is ${VERSION}: run make bundle."
	[[ "${OPENSHIFT_CATALOGS}" =~ ^v[4-9]\.[0-9]+(,v[4-9]\.[0-9]+)*$ ]] ||
		fail "OPENSHIFT_CATALOGS is '${OPENSHIFT_CATALOGS}', but must be OpenShift versions separated by commas, such as v4.17,v4.18."
	[[ "${COMMUNITY_REVIEWERS}" =~ ^([A-Za-z0-9-]+(,[A-Za-z0-9-]+)*)?$ ]] ||
		fail "COMMUNITY_REVIEWERS is '${COMMUNITY_REVIEWERS}', but must be names of GitHub users separated by commas."
}

# write_bundle FOLDER copies the bundle into the operator's folder in a catalog, in place of an earlier copy.
write_bundle() {
	rm -rf "${1:?}/${VERSION}"
	mkdir -p "$1/${VERSION}"
	cp -R "${BUNDLE_DIR}/manifests" "${BUNDLE_DIR}/metadata" "${BUNDLE_DIR}/tests" "$1/${VERSION}"
}

# create FILE writes standard input to a file, unless the file exists. The pipelines of the catalogs add published bundles to the
# template, and new OpenShift versions to ci.yaml. So existing files are newer than what this script would write.
create() {
	mkdir -p "$(dirname "$1")"
	if [[ -e "$1" ]]; then
		cat >/dev/null
		echo "  kept $1, which exists"
	else
		cat >"$1"
	fi
}

# list KEY VALUES prints VALUES, which are separated by commas, as the YAML list KEY. It prints nothing if VALUES is empty.
list() { [[ -z "$2" ]] || printf '%s:\n%s\n' "$1" "${2//,/$'\n'}" | sed '2,$s/^/- /'; }

write_kubernetes() {
	write_bundle "$1"
	{
		echo "---"
		echo "# Each version upgrades the one before: the bundles have no replaces."
		echo "updateGraph: semver-mode"
		list reviewers "${COMMUNITY_REVIEWERS}"
	} | create "$1/ci.yaml"
}

write_openshift() {
	local channels="Candidate, Stable"
	if [[ "${VERSION}" == *-* ]]; then channels=Candidate; fi
	write_bundle "$1"
	# The catalog's pipeline builds the bundle. It adds the bundle's image to each of these channels in semver.yaml, and renders the
	# catalogs.
	cat >"$1/${VERSION}/release-config.yaml" <<-END
		---
		catalog_templates:
		- template_name: semver.yaml
		  channels: [${channels}]
	END
	create "$1/catalog-templates/semver.yaml" <<-END
		---
		Schema: olm.semver
		GenerateMajorChannels: true
		GenerateMinorChannels: false
	END
	{
		echo "---"
		list reviewers "${COMMUNITY_REVIEWERS}"
		cat <<-END
			fbc:
			  enabled: true
			  version_promotion_strategy: review-needed
			  catalog_mapping:
			  - template_name: semver.yaml
			    type: olm.semver
			    catalog_names: [${OPENSHIFT_CATALOGS//,/, }]
		END
	} | create "$1/ci.yaml"
}

check_input
for catalog in kubernetes:community-operators openshift:community-operators-prod; do
	folder=${COMMUNITY_DIR}/${catalog#*:}/operators/${package}
	"write_${catalog%:*}" "${folder}"
	echo "${folder} contains version ${VERSION}."
done
