# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

# What the checkout is published as. make, the scripts and the tests take it from here; make begin-version, record-images and
# record-bundle write it.

# The version in preparation, without a leading v. Image tags and the manifests' labels contain it as v$(VERSION).
VERSION ?= 1.0.0
# The common prefix of the image names. The default is a placeholder: set it, or IMG, to a registry you can push to.
IMAGE_TAG_BASE ?= example.com/memcached-operator
# The lists of the catalog's template that the version is in: a pre-release is in candidate only.
CHANNEL_LISTS ?= candidate$(if $(findstring -,$(VERSION)),, stable)
# The digests of the images of this version, once they have been pushed. The bundle and the catalog then name images by them.
OPERATOR_DIGEST ?=
AGENT_DIGEST ?=
MEMCACHED_DIGEST ?=
SCORECARD_DIGEST ?=
BUNDLE_DIGEST ?=
# A checksum of the sources that the images of the operator and of the agent were built from.
SOURCES ?=
