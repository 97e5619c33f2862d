# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

##@ Release: images for all platforms

# The base images of the Dockerfiles, as make base-images prints them. Empty means those that the Dockerfiles name.
BUILD_IMAGE ?=
BASE_IMAGE ?=
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null)
# The images of a release name its tag: the commit of the tag contains their digests, so they cannot contain its.
docker-buildx: REVISION = v$(VERSION)
base-arguments = $(foreach name,BUILD_IMAGE BASE_IMAGE,$(if $($(name)),--build-arg $(name)="$($(name))"))
build-arguments = --build-arg VERSION="$$VERSION" --build-arg REVISION="$(REVISION)" $(base-arguments)

# buildx builds image $(1) for all PLATFORMS and pushes it. $(2) are the other arguments, the last of which is the context.
ifeq ($(notdir $(CONTAINER_TOOL)),podman)
define buildx
$(CONTAINER_TOOL) build --platform=$(PLATFORMS) --manifest "$(1)" $(2) && \
$(CONTAINER_TOOL) manifest push --all "$(1)"
endef
else
define buildx
{ $(CONTAINER_TOOL) buildx inspect memcached-operator >/dev/null 2>&1 || $(CONTAINER_TOOL) buildx create --name memcached-operator; } && \
$(CONTAINER_TOOL) buildx build --builder memcached-operator --platform=$(PLATFORMS) --push --tag "$(1)" $(2)
endef
endif

.PHONY: base-images
base-images: ## Print the base images with their digests, as variables of the following targets. Needs their registries.
	@CONTAINER_TOOL="$(CONTAINER_TOOL)" OPM_IMG="$(OPM_IMG)" hack/release/base-images.sh

# NEXT is the version after the published one, DAY that of the release.
NEXT ?=
DAY ?= $(shell date --utc +%F)
release-variables = VERSION="$(VERSION)" IMAGE_TAG_BASE="$(IMAGE_TAG_BASE)" CONTAINER_TOOL="$(CONTAINER_TOOL)"

.PHONY: begin-version
begin-version: ## Begin version NEXT everywhere, and keep the bundle of the published one.
	@$(release-variables) NEXT="$(NEXT)" BUNDLE_DIGEST="$(BUNDLE_DIGEST)" \
		CHANNEL_LISTS="$(if $(findstring -,$(NEXT)),candidate,candidate stable)" hack/release/begin.sh

.PHONY: release-day
release-day: check-version ## Set the day of the release, today or DAY, in the changelog and the bundle.
	@$(release-variables) DAY="$(DAY)" hack/release/day.sh

.PHONY: record-images
record-images: check-version check-img ## Record the digests of IMG, AGENT_IMG, MEMCACHED_IMAGE and SCORECARD_IMG, which have been pushed.
	@$(release-variables) hack/release/record.sh OPERATOR_DIGEST="$(IMG)" AGENT_DIGEST="$(AGENT_IMG)" \
		MEMCACHED_DIGEST="$(MEMCACHED_IMAGE)" SCORECARD_DIGEST="$(SCORECARD_IMG)"

.PHONY: published-image
published-image:
	@echo "$(published-operator)"

.PHONY: record-bundle
record-bundle: check-version ## Record the digest of BUNDLE_IMG, which has been pushed, for the catalog.
	@$(release-variables) hack/release/record.sh BUNDLE_DIGEST="$(BUNDLE_IMG)"

.PHONY: docker-buildx
docker-buildx: check-version check-img check-container-tool ## Build and push the images IMG and AGENT_IMG for all PLATFORMS.
	$(call buildx,$(IMG),$(build-arguments) .)
	$(call buildx,$(AGENT_IMG),$(build-arguments) --target agent .)

.PHONY: bundle-buildx
bundle-buildx: check-container-tool ## Build and push the bundle image BUNDLE_IMG for all PLATFORMS.
	$(call buildx,$(BUNDLE_IMG),--file $(BUNDLE_DIR).Dockerfile $(dir $(BUNDLE_DIR)))

.PHONY: catalog-buildx
catalog-buildx: check-container-tool opm ## Build and push the catalog image CATALOG_IMG for all PLATFORMS. Emulates the foreign ones.
	@$(catalog-dockerfile) && $(call buildx,$(CATALOG_IMG),--file $(CATALOG_DIR).Dockerfile $(dir $(CATALOG_DIR)))

.PHONY: scorecard-buildx
scorecard-buildx: check-container-tool ## Build and push the image SCORECARD_IMG for all PLATFORMS.
	$(call buildx,$(SCORECARD_IMG),--file test/scorecard/Dockerfile $(base-arguments) .)

##@ Release: before anything is published

.PHONY: release-rehearsal
release-rehearsal: $(KUSTOMIZE) $(CONTROLLER_GEN) operator-sdk ## Walk docs/operations/release.md with a clone and a registry on this machine.
	@hack/binaries.sh registry
	@KUSTOMIZE="$(KUSTOMIZE)" CONTROLLER_GEN="$(CONTROLLER_GEN)" OPERATOR_SDK="$(OPERATOR_SDK)" hack/release/rehearsal/rehearse.sh

# The age in days from which a dependency is named that has a newer version.
MAX_AGE ?= 90
.PHONY: outdated
outdated: ## Name the dependencies and tools older than MAX_AGE days that have a newer version. Needs a module proxy.
	@MAX_AGE="$(MAX_AGE)" hack/release/outdated.sh

.PHONY: check-release
check-release: check-version ## Refuse to release what must not be published, and say what to set.
	@AGENT_IMG="$(AGENT_IMG)" BUILD_IMAGE="$(BUILD_IMAGE)" BASE_IMAGE="$(BASE_IMAGE)" OPM_IMG="$(OPM_IMG)" OPERATOR_DIGEST="$(OPERATOR_DIGEST)" SOURCES="$(SOURCES)" \
		hack/release/check.sh
