#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the block of commands with a name in docs/operations/release.md: hack/release/block.sh NAME
# Without a key, git cannot sign the tag. NEXT is the version to begin. The release workflow and make release-rehearsal call this
# script, so that all three do the same.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

script=$(awk -v marker="^<!-- not run: .*hack/release/block.sh $1 runs it -->\$" '
	$0 ~ marker { found = 1; next } found && /^```sh/ { inside = 1; next } inside && /^```/ { exit } inside' docs/operations/release.md)
[[ -n "${script}" ]] || { echo "docs/operations/release.md has no block with the name '$1'." >&2; exit 2; }
git config user.signingkey >/dev/null || script=${script//git tag --sign/git tag --annotate}
[[ -z "${NEXT:-}" ]] || script=$(sed "s/ NEXT=.*/ NEXT=${NEXT}/" <<<"${script}")
unset NEXT
exec bash -o errexit -o nounset -o pipefail -o xtrace -c "${script}"
