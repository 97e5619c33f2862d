#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Replaces the placeholders by the publisher's names in every tracked file:
#   hack/rename.sh DOMAIN PREFIX REPO
#   hack/rename.sh shop.io registry.shop.io/team/memcached-operator github.com/shop/memcached-operator
# The API group becomes cache.DOMAIN, and the address maintainers@DOMAIN. The names of the images begin with PREFIX. REPO is the Go
# module, and https://REPO is the place of the sources. Afterwards, regenerate what the last line of the output says, and commit.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
	echo "$*" >&2
	exit 2
}

[[ $# -eq 3 ]] || fail "Usage: hack/rename.sh DOMAIN PREFIX REPO, such as hack/rename.sh shop.io registry.shop.io/memcached-operator github.com/shop/memcached-operator"
[[ "$1" =~ ^[a-z0-9-]+(\.[a-z0-9-]+)+$ ]] || fail "DOMAIN is '$1', but must be a domain in lower case, such as shop.io."
[[ "$2" =~ ^[a-z0-9.:-]+(/[a-z0-9._-]+)+$ ]] || fail "PREFIX is '$2', but must be the name of an image without a tag, such as registry.shop.io/memcached-operator."
[[ "$3" =~ ^[a-z0-9.-]+(/[A-Za-z0-9._-]+){2,}$ ]] || fail "REPO is '$3', but must be a Go module path, such as github.com/shop/memcached-operator."
[[ -z "$(git status --porcelain)" ]] || fail "The checkout has changes that no commit contains: commit or remove them, so that the renaming can be reviewed and undone."

old_domain=$(sed -n 's/^domain: //p' PROJECT)
old_prefix=$(sed -n 's/^IMAGE_TAG_BASE ?= //p' hack/release/published.mk)
old_repo=$(sed -n 's/^module //p' go.mod)

# expression OLD NEW DOT NOT prints a sed command that replaces OLD by NEW. It keeps OLD after a letter, a digit, a dash or one of the
# characters in NOT: the example.com in registry.example.com is not our placeholder. DOT is how the files write a dot: regular
# expressions have backslashes in front of it.
expression() {
	local old=${1//./$3} new=${2//./$3}
	old=$(sed 's/[\\.]/\\&/g' <<<"${old}")
	new=$(sed 's/\\/\\&/g' <<<"${new}")
	echo "s#(^|[^A-Za-z0-9$4-])${old}([^A-Za-z0-9]|\$)#\1${new}\2#g"
}
commands=()
for dot in . '\.' '\\.'; do
	while read -r from to not; do
		# Each command runs twice: a match includes the characters around a name, so the first run misses one of two adjacent names.
		commands+=(--expression "$(expression "${from}" "${to}" "${dot}" "${not}")" --expression "$(expression "${from}" "${to}" "${dot}" "${not}")")
	done <<-END
		${old_prefix} $2 .
		${old_repo} $3
		${old_repo%/*} ${3%/*}
		cache.${old_domain} cache.$1
		maintainers@${old_domain} maintainers@$1
	END
done
owner() { cut -d / -f 2 <<<"$1"; }
commands+=(--expression "s#^(\* @)$(owner "${old_repo}")/#\1$(owner "$3")/#" # the owners of the code
	--expression "s#^( *domain: )${old_domain//./\\.}\$#\1$1#"
	--expression "s#^(prefix = \")${old_prefix%%/*}\"#\1${2%%/*}\"#") # the mirror of the local cluster

# Scripts that look for placeholders keep them, and so do published versions.
git ls-files -z -- ':!hack/rename.sh' ':!hack/release/check.sh' ':!catalog/bundles' | xargs -0 grep -lZI example |
	xargs -0 sed -i -E "${commands[@]}"
# Some file names contain the API group.
git ls-files -z "*cache.${old_domain}*" | while IFS= read -r -d '' file; do
	git mv "${file}" "${file//cache.${old_domain}/cache.$1}"
done
gofmt -w $(git ls-files '*.go')
echo "Now run: make generate manifests api-docs bundle catalog, review the difference, and commit it."
