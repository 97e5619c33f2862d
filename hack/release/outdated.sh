#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Lists dependencies whose version is older than MAX_AGE days although a newer version exists. It checks the direct dependencies and
# the commands of every module, and the tools of the makefiles. It needs a module proxy. make outdated calls this script.
set -o errexit -o nounset -o pipefail
shopt -s nullglob
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# direct FILE prints the modules that a go.mod requires directly or for one of its tools.
direct() {
	awk '
		/^tool \($/ { block = "tool"; next }
		/^require \($/ { block = "require"; next }
		/^\)/ { block = ""; next }
		$1 == "tool" { tools[$2] }
		$1 == "require" { indirect[$2] = /\/\/ indirect/ }
		block == "tool" { tools[$1] }
		block == "require" && NF > 1 && $1 !~ /^\/\// { indirect[$1] = /\/\/ indirect/ }
		END {
			for (module in indirect) {
				if (!indirect[module]) print module
				else for (tool in tools) if (index(tool "/", module "/") == 1) { print module; break }
			}
		}' "$1" | sort
}

# tools prints the modules of the tools in the makefiles, as module@version.
tools() {
	local package name version
	while IFS=, read -r _ package name; do
		version=$(sed -n "s/^${name} ?= //p" Makefile hack/*/*.mk)
		while ! go list -m "${package}@${version}" 2>/dev/null | sed 's/ /@/'; do
			[[ "${package}" == */*/* ]] || { echo "the module of ${name} is unknown" >&2; return 1; }
			package=${package%/*}
		done
	done < <(sed -n 's/^\t$(call \(go-install,[^,]*\),$(\([A-Z_]*\)))$/\1,\2/p' Makefile hack/*/*.mk)
}

# look_up MODULE... prints each module with its version, the day of this version, and the newest version or "?".
look_up() {
	go list -m -u -e -f '{{.Path}} {{.Version}} {{with .Time}}{{.Format "2006-01-02"}}{{else}}-{{end}} {{with .Update}}{{.Version}}{{else}}{{if .Error}}?{{else}}-{{end}}{{end}}' "$@"
}

oldest=$(date --utc --date="-${MAX_AGE:-90} days" +%F)
{
	for file in go.mod hack/*/go.mod; do
		mapfile -t modules < <(direct "${file}")
		(cd "$(dirname "${file}")" && look_up "${modules[@]}")
	done
	mapfile -t modules < <(tools)
	look_up "${modules[@]}"
} | sort -u | awk -v oldest="${oldest}" -v days="${MAX_AGE:-90}" '
	$4 == "?" { print "- " $1 " " $2 ": the proxy does not list its versions; look at its releases"; next }
	$4 != "-" && $3 < oldest { print "- " $1 " " $2 " is of " $3 ", and " $4 " is there: raise it"; found++ }
	END { if (found) { print "Dependencies older than " days " days: " found "."; exit 1 } }'
echo "No dependency with a newer version is older than ${MAX_AGE:-90} days."
