#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs a block of commands of docs/operations/release.md, by its name: hack/release/block.sh NAME
# If git has no key to sign with, the script makes an unsigned tag. NEXT is the version to begin. The release workflow and make
# release-rehearsal call this script, so that both run the commands of the page.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

script=$(awk -v marker="^<!-- not run: .*hack/release/block.sh $1 runs it -->\$" '
	$0 ~ marker { found = 1; next } found && /^```sh/ { inside = 1; next } inside && /^```/ { exit } inside' docs/operations/release.md)
[[ -n "${script}" ]] || { echo "docs/operations/release.md has no block with the name '$1'." >&2; exit 2; }
git config user.signingkey >/dev/null || script=${script//git tag --sign/git tag --annotate}
[[ -z "${NEXT:-}" ]] || script=$(sed "s/ NEXT=.*/ NEXT=${NEXT}/" <<<"${script}")
unset NEXT
exec bash -o errexit -o nounset -o pipefail -o xtrace -c "${script}"
