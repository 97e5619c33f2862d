# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# sources_of_image prints a checksum of the tracked files from which the images of the operator and of the agent are built. The images
# contain the name of a tag that is set later. With the checksum, check-release makes sure that the tag has the sources of the images.
sources_of_image() {
	git ls-files --stage LICENSE Dockerfile go.mod go.sum main.go api cmd controllers internal hack/licenses | git hash-object --stdin
}
