# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

##@ Release: bundle and catalog (for the Operator Lifecycle Manager)

comma := ,
major = $(firstword $(subst ., ,$(VERSION)))
space := $(subst ,, )
# The channels of the bundle: one for each list in the catalog's template that contains the version (CHANNEL_LISTS), such as stable-v1.
CHANNELS ?= $(subst $(space),$(comma),$(strip $(foreach list,$(CHANNEL_LISTS),$(list)-v$(major))))
DEFAULT_CHANNEL ?= $(lastword $(subst $(comma), ,$(CHANNELS)))
# The OpenShift versions whose catalogs offer the bundle: v4.17 and all later ones. v4.17 is the first with Kubernetes 1.30.
OPENSHIFT_VERSIONS ?= v4.17
# The OpenShift catalogs to which the first submission adds the bundle. When the catalog of a new OpenShift version opens, the pipeline
# of the community catalog copies the newest earlier catalog into it, once.
OPENSHIFT_CATALOGS ?= $(shell awk '/^v/ { printf "%s%s", comma, $$1; comma = "," }' hack/bundle/openshift.txt)
# The folder to which make community writes. It may contain clones of the forks of both catalogs.
COMMUNITY_DIR ?= dist/community
# The GitHub users, separated by commas, whose pull requests to the community catalogs are merged automatically.
COMMUNITY_REVIEWERS ?=
# by-digest returns the image in the variable $(1), with the digest in the variable $(2) in place of the tag, because not every tool
# accepts both. If no digest is recorded, or if the caller has set $(1), by-digest returns the image unchanged.
by-digest = $(if $(and $($(2)),$(filter file,$(origin $(1)))),$(patsubst %:$(lastword $(subst :, ,$($(1)))),%,$($(1)))@$($(2)),$($(1)))
published-operator = $(call by-digest,IMG,OPERATOR_DIGEST)
# If the caller sets IMG, the name of the agent's image changes, too. So AGENT_DIGEST applies only if the caller sets neither IMG nor
# AGENT_IMG.
published-agent = $(if $(filter file,$(origin IMG)),$(call by-digest,AGENT_IMG,AGENT_DIGEST),$(AGENT_IMG))
published-memcached = $(call by-digest,MEMCACHED_IMAGE,MEMCACHED_DIGEST)
published-scorecard = $(call by-digest,SCORECARD_IMG,SCORECARD_DIGEST)
# If true, the bundle names every image by its digest. make bundle asks the registry for each digest that is not recorded.
USE_IMAGE_DIGESTS ?= $(if $(and $(findstring @,$(published-operator)),$(findstring @,$(published-agent)),$(findstring @,$(published-memcached))),true,false)
# Additional flags for operator-sdk generate bundle.
BUNDLE_GEN_FLAGS ?=
BUNDLE_DIR ?= bundle
BUNDLE_IMG ?= $(IMAGE_TAG_BASE)-bundle:v$(VERSION)
SCORECARD_IMG ?= $(IMAGE_TAG_BASE)-scorecard:v$(VERSION)
# The catalog is rendered from a template of versions and the folders of their bundles, without a registry.
CATALOG_TEMPLATE ?= catalog/template.yaml
CATALOG_BUNDLES ?= $(wildcard catalog/bundles/*) $(BUNDLE_DIR)
CATALOG_DIR ?= catalog/memcached-operator
# Checks image signatures with Go code instead of a C library.
CATALOG_TAGS = -tags=containers_image_openpgp
CATALOG_IMG ?= $(IMAGE_TAG_BASE)-catalog:v$(VERSION)
# The base of the catalog image: opm, in the version that rendered the catalog.
OPM_IMG ?= quay.io/operator-framework/opm:$(shell awk '/operator-registry v/ { print $$2; exit }' hack/catalog/go.mod)
# The namespace for the pods of scorecard: any existing one in the cluster of KUBECONFIG.
SCORECARD_NAMESPACE ?= default
OPERATOR_SDK ?= $(LOCALBIN)/kubernetes/operator-sdk
OPM ?= $(LOCALBIN)/kubernetes/opm
export BUNDLE_IMG CATALOG_IMG SCORECARD_IMG

.PHONY: bundle
bundle: $(KUSTOMIZE) $(if $(filter file,$(origin OPERATOR_SDK)),operator-sdk) ## Generate bundle/ and bundle.Dockerfile for VERSION and IMG. Idempotent.
	@BUNDLE_DIR="$(BUNDLE_DIR)" BUNDLE_GEN_FLAGS="$(BUNDLE_GEN_FLAGS)" CHANNELS="$(CHANNELS)" KUSTOMIZE="$(KUSTOMIZE)" \
	DEFAULT_CHANNEL="$(DEFAULT_CHANNEL)" IMG="$(published-operator)" AGENT_IMG="$(published-agent)" \
	MEMCACHED_IMAGE="$(published-memcached)" SCORECARD_IMG="$(published-scorecard)" OPERATOR_SDK="$(OPERATOR_SDK)" \
	OPENSHIFT_VERSIONS="$(OPENSHIFT_VERSIONS)" USE_IMAGE_DIGESTS="$(USE_IMAGE_DIGESTS)" hack/bundle/bundle.sh

.PHONY: community
community: check-version ## Write the files for pull requests to the community catalogs of Kubernetes and OpenShift to COMMUNITY_DIR.
	@BUNDLE_DIR="$(BUNDLE_DIR)" COMMUNITY_DIR="$(COMMUNITY_DIR)" COMMUNITY_REVIEWERS="$(COMMUNITY_REVIEWERS)" \
	OPENSHIFT_CATALOGS="$(OPENSHIFT_CATALOGS)" hack/bundle/community.sh

.PHONY: bundle-validate
bundle-validate: operator-sdk ## Check bundle/ with every validator of operator-sdk.
	$(OPERATOR_SDK) bundle validate $(BUNDLE_DIR) --select-optional suite=operatorframework

.PHONY: bundle-build
bundle-build: check-container-tool ## Build the bundle image BUNDLE_IMG.
	$(CONTAINER_TOOL) build -f $(BUNDLE_DIR).Dockerfile -t $(BUNDLE_IMG) $(dir $(BUNDLE_DIR))

.PHONY: bundle-push
bundle-push: check-container-tool ## Push the bundle image BUNDLE_IMG.
	$(CONTAINER_TOOL) push $(BUNDLE_IMG)

.PHONY: catalog
catalog: ## Render the catalog of the versions in catalog/template.yaml, and the diagram of its upgrade graph.
	@cd hack/catalog && go build $(CATALOG_TAGS) -o $(LOCALBIN)/render-catalog .
	@$(LOCALBIN)/render-catalog --template $(CATALOG_TEMPLATE) \
		$(if $(filter-out file,$(origin IMAGE_TAG_BASE)),--repository $(IMAGE_TAG_BASE)-bundle) \
		--output $(CATALOG_DIR)/catalog.yaml --graph $(dir $(CATALOG_DIR))graph.md $(CATALOG_BUNDLES)

# Checks the catalog, and writes its Dockerfile, which the end of the recipe removes.
catalog-dockerfile = rm -f $(CATALOG_DIR).Dockerfile && trap 'rm -f $(CATALOG_DIR).Dockerfile' EXIT && set -x && \
	$(OPM) validate $(CATALOG_DIR) && $(OPM) generate dockerfile $(CATALOG_DIR) --base-image $(OPM_IMG) --builder-image $(OPM_IMG)

.PHONY: catalog-build
catalog-build: check-container-tool opm ## Build the catalog image CATALOG_IMG from CATALOG_DIR.
	@$(catalog-dockerfile) && \
	$(CONTAINER_TOOL) build -f $(CATALOG_DIR).Dockerfile -t $(CATALOG_IMG) $(dir $(CATALOG_DIR))

.PHONY: catalog-push
catalog-push: check-container-tool ## Push the catalog image CATALOG_IMG.
	$(CONTAINER_TOOL) push $(CATALOG_IMG)

.PHONY: scorecard-build
scorecard-build: check-container-tool ## Build the image of the project's own scorecard tests, SCORECARD_IMG.
	$(CONTAINER_TOOL) build -f test/scorecard/Dockerfile $(base-arguments) -t $(SCORECARD_IMG) .

.PHONY: scorecard-push
scorecard-push: check-container-tool ## Push the image SCORECARD_IMG.
	$(CONTAINER_TOOL) push $(SCORECARD_IMG)

.PHONY: scorecard
scorecard: operator-sdk ## Run the scorecard over bundle/, on the cluster of KUBECONFIG.
	$(OPERATOR_SDK) scorecard $(BUNDLE_DIR) --namespace $(SCORECARD_NAMESPACE) --wait-time 300s --pod-security restricted

.PHONY: operator-sdk opm
operator-sdk opm:
	@hack/binaries.sh $@
