# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# sources_of_image prints a checksum of the files that the images of the operator and of the agent are built from, as git tracks them. The
# images name the tag, which is set later: with the checksum, check-release knows that all have the same sources.
sources_of_image() {
	git ls-files --stage LICENSE Dockerfile go.mod go.sum main.go api cmd controllers internal hack/licenses | git hash-object --stdin
}
