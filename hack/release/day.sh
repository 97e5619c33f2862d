#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Writes DAY, the day of the release, to the changelog and to the file from which make bundle takes it. In the changelog, the content of
# the section Unreleased becomes the section of VERSION. make release-day calls this script.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

[[ "${DAY}" =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]] || { echo "DAY is '${DAY}', but must be a day, such as 2026-11-24." >&2; exit 2; }
if grep -q "^## \[${VERSION//./\\.}\] - " CHANGELOG.md; then
	sed -i "s/^## \[${VERSION//./\\.}\] - .*/## [${VERSION}] - ${DAY}/" CHANGELOG.md
else
	sed -i "s/^## \[Unreleased\]\$/&\n\n## [${VERSION}] - ${DAY}/" CHANGELOG.md
fi

# Each version links to its changes since the previous version.
repository=https://$(sed -n 's/^module //p' go.mod)
earlier=$(grep -E '^\[[0-9][^]]*\]: ' CHANGELOG.md | grep -vF "[${VERSION}]: " || true)
previous=$(sed -n '1s/^\[\(.*\)\]: .*/\1/p' <<<"${earlier}")
changes=${repository}/releases/tag/v${VERSION}
if [[ -n "${previous}" ]]; then changes=${repository}/compare/v${previous}...v${VERSION}; fi
sed -i -E '/^\[[^]]+\]: /d' CHANGELOG.md
printf '%s\n' "[Unreleased]: ${repository}/compare/v${VERSION}...HEAD" "[${VERSION}]: ${changes}" ${earlier:+"${earlier}"} >>CHANGELOG.md

sed -i "s/^\( *createdAt: \).*/\1\"${DAY}T00:00:00Z\"/" config/manifests/bases/memcached-operator.clusterserviceversion.yaml
