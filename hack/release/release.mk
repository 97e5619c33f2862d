# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

##@ Release: images for all platforms

# The base images of the Dockerfiles, in the format of make base-images. Empty means the ones that the Dockerfiles name.
BUILD_IMAGE ?=
BASE_IMAGE ?=
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null)
# The images of a release contain the name of the tag instead of its commit. The commit contains the digests of the images, so it can
# only be made after the images.
docker-buildx: REVISION = v$(VERSION)
base-arguments = $(foreach name,BUILD_IMAGE BASE_IMAGE,$(if $($(name)),--build-arg $(name)="$($(name))"))
build-arguments = --build-arg VERSION="$$VERSION" --build-arg REVISION="$(REVISION)" $(base-arguments)

# buildx builds image $(1) for all PLATFORMS and pushes it. $(2) contains the other arguments, with the context at the end.
ifeq ($(notdir $(CONTAINER_TOOL)),podman)
define buildx
$(CONTAINER_TOOL) build --platform=$(PLATFORMS) --manifest "$(1)" $(2) && \
$(CONTAINER_TOOL) manifest push --all "$(1)"
endef
else
# Adds provenance and an SBOM to each platform. podman supports neither.
define buildx
{ $(CONTAINER_TOOL) buildx inspect memcached-operator >/dev/null 2>&1 || $(CONTAINER_TOOL) buildx create --name memcached-operator; } && \
$(CONTAINER_TOOL) buildx build --builder memcached-operator --platform=$(PLATFORMS) --provenance=mode=max --sbom=true --push --tag "$(1)" $(2)
endef
endif

.PHONY: base-images
base-images: ## Print the base images with their digests, as variables of the following targets. Needs their registries.
	@CONTAINER_TOOL="$(CONTAINER_TOOL)" OPM_IMG="$(OPM_IMG)" hack/release/base-images.sh

# NEXT is the version after the published one. DAY is the day of the release.
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
catalog-buildx: check-container-tool $(if $(filter file,$(origin OPM)),opm) ## Build and push the catalog image CATALOG_IMG for all PLATFORMS. Emulates the foreign ones.
	@$(catalog-dockerfile) && $(call buildx,$(CATALOG_IMG),--file $(CATALOG_DIR).Dockerfile $(dir $(CATALOG_DIR)))

.PHONY: scorecard-buildx
scorecard-buildx: check-container-tool ## Build and push the image SCORECARD_IMG for all PLATFORMS.
	$(call buildx,$(SCORECARD_IMG),--file test/scorecard/Dockerfile $(base-arguments) .)

##@ Release: signatures and publications

# The command that signs. COSIGN_FLAGS are further flags for it, such as --key=cosign.key. Without a key, the signature names the person
# or the workflow that signs.
COSIGN_VERSION ?= v3.1.3
COSIGN ?= $(LOCALBIN)/cosign-$(COSIGN_VERSION)
COSIGN_FLAGS ?=
signing-variables = CONTAINER_TOOL="$(CONTAINER_TOOL)" COSIGN="$(COSIGN)" COSIGN_FLAGS="$(COSIGN_FLAGS)"
# The registry of the chart, and further flags for helm push.
CHART_REPOSITORY ?= oci://$(patsubst %/,%,$(dir $(IMAGE_TAG_BASE)))/charts
HELM_PUSH_FLAGS ?=
HELM ?= $(LOCALBIN)/kubernetes/helm
# The GitHub user or organization with forks of both community catalogs, and the address of GitHub.
COMMUNITY_FORKS ?=
GITHUB ?= https://github.com

.PHONY: sign
sign: check-version $(COSIGN) sbom ## Sign the images of the version by their recorded digests, and attest what is in them.
	@$(signing-variables) hack/release/sign.sh --sbom dist/sbom.cdx.json "$(published-operator)" "$(published-agent)"
	@$(signing-variables) hack/release/sign.sh "$(published-scorecard)" "$(call by-digest,BUNDLE_IMG,BUNDLE_DIGEST)" "$(CATALOG_IMG)"

.PHONY: chart-push
chart-push: $(COSIGN) helm ## Push the chart in CHART_DIR to CHART_REPOSITORY, and sign it.
	@$(if $(filter file,$(origin HELM)),hack/binaries.sh helm)
	@$(signing-variables) CHART_DIR="$(CHART_DIR)" CHART_REPOSITORY="$(CHART_REPOSITORY)" HELM="$(HELM)" HELM_PUSH_FLAGS="$(HELM_PUSH_FLAGS)" \
		hack/release/chart.sh

.PHONY: github-release
github-release: check-version $(COSIGN) sbom ## Draft the release on GitHub, with signed checksums. Needs gh.
	@$(MAKE) --no-print-directory build-installer IMG="$(published-operator)" AGENT_IMG="$(published-agent)"
	@$(signing-variables) hack/release/github.sh

.PHONY: catalog-requests
catalog-requests: check-version ## Draft the pull requests to the community catalogs from the forks of COMMUNITY_FORKS. Needs gh.
	@BUNDLE_DIR="$(CURDIR)/$(BUNDLE_DIR)" COMMUNITY_REVIEWERS="$(COMMUNITY_REVIEWERS)" OPENSHIFT_CATALOGS="$(OPENSHIFT_CATALOGS)" \
		COMMUNITY_FORKS="$(COMMUNITY_FORKS)" GITHUB="$(GITHUB)" REPOSITORY="https://github.com/example/memcached-operator" hack/release/catalogs.sh

$(COSIGN):
	$(call go-install,github.com/sigstore/cosign/v3/cmd/cosign,$(COSIGN_VERSION))

##@ Release: before anything is published

.PHONY: release-rehearsal
release-rehearsal: $(KUSTOMIZE) $(CONTROLLER_GEN) operator-sdk opm ## Walk docs/operations/release.md with a clone and a registry on this machine.
	@hack/binaries.sh registry helm
	@KUSTOMIZE="$(KUSTOMIZE)" CONTROLLER_GEN="$(CONTROLLER_GEN)" OPERATOR_SDK="$(OPERATOR_SDK)" OPM="$(OPM)" HELM="$(HELM)" \
		hack/release/rehearsal/rehearse.sh

# The age in days from which make outdated lists a dependency with a newer version.
MAX_AGE ?= 90
.PHONY: outdated
outdated: ## Name the dependencies and tools older than MAX_AGE days that have a newer version. Needs a module proxy.
	@MAX_AGE="$(MAX_AGE)" hack/release/outdated.sh

.PHONY: check-release
check-release: check-version ## Refuse to release what must not be published, and say what to set.
	@AGENT_IMG="$(AGENT_IMG)" BUILD_IMAGE="$(BUILD_IMAGE)" BASE_IMAGE="$(BASE_IMAGE)" OPM_IMG="$(OPM_IMG)" OPERATOR_DIGEST="$(OPERATOR_DIGEST)" SOURCES="$(SOURCES)" \
		hack/release/check.sh
