#!/bin/sh
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Copies the licenses and notices of Go and of each module that a command links, which must accompany the command:
#   hack/licenses.sh PACKAGE FOLDER
set -o errexit -o nounset

# copy FROM TO copies the licenses in a folder, but not those in its subfolders. It fails if there is none.
copy() {
	mkdir -p "$2"
	for file in "$1"/LICENSE* "$1"/NOTICE* "$1"/COPYING* "$1"/PATENTS*; do
		[ ! -f "${file}" ] || cp "${file}" "$2"
	done
	[ -n "$(ls "$2")" ] || { echo "No license was found in $1." >&2; exit 1; }
}

modules=$(go list -deps -f '{{with .Module}}{{.Path}} {{.Dir}}{{end}}' "$1" | sort -u)
echo "${modules}" | while read -r path folder; do copy "${folder}" "$2/${path}"; done
# Some Linux distributions keep the license of Go elsewhere.
[ ! -f "$(go env GOROOT)/LICENSE" ] || copy "$(go env GOROOT)" "$2/go"
