# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

# The names, versions and digests under which the checkout is published. make, the scripts and the tests read this file. make
# begin-version, record-images and record-bundle write it.

# The version in preparation, without a leading v. Image tags and the manifests' labels contain it as v$(VERSION).
VERSION ?= 1.0.0
# The common prefix of the image names. The default is a placeholder: set it, or IMG, to a registry you can push to.
IMAGE_TAG_BASE ?= example.com/memcached-operator
# The lists of the catalog's template that contain the version. A pre-release is only in candidate.
CHANNEL_LISTS ?= candidate$(if $(findstring -,$(VERSION)),, stable)
# The digests of this version's images, recorded after the push. With them, the bundle and the catalog name the images by digest.
OPERATOR_DIGEST ?=
AGENT_DIGEST ?=
MEMCACHED_DIGEST ?=
SCORECARD_DIGEST ?=
BUNDLE_DIGEST ?=
# A checksum of the sources of the operator's and the agent's images.
SOURCES ?=
