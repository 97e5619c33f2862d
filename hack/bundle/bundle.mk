# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

##@ Release: bundle and catalog (for the Operator Lifecycle Manager)

major = $(firstword $(subst ., ,$(VERSION)))
# The channels of the bundle. A pre-release is only in candidate.
CHANNELS ?= candidate-v$(major)$(if $(findstring -,$(VERSION)),,$(comma)stable-v$(major))
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
# If true, the bundle names every image by its digest. make bundle asks the registry for each digest that IMG, AGENT_IMG and
# MEMCACHED_IMAGE lack.
USE_IMAGE_DIGESTS ?= false
# Additional flags for operator-sdk generate bundle.
BUNDLE_GEN_FLAGS ?=
BUNDLE_DIR ?= bundle
BUNDLE_IMG ?= $(IMAGE_TAG_BASE)-bundle:v$(VERSION)
# The catalog is the template, which has the channels, and the bundles in these folders: that of each released version, and BUNDLE_DIR.
CATALOG_TEMPLATE ?= catalog/template.yaml
CATALOG_BUNDLES ?= $(wildcard catalog/bundles/*) $(BUNDLE_DIR)
CATALOG_DIR ?= catalog/memcached-operator
CATALOG_IMG ?= $(IMAGE_TAG_BASE)-catalog:v$(VERSION)
# The base of the catalog image: opm, in the version that rendered the catalog.
OPM_IMG ?= quay.io/operator-framework/opm:$(shell awk '/operator-registry v/ { print $$2; exit }' hack/olm/go.mod)
# The namespace for the pods of scorecard: any existing one in the cluster of KUBECONFIG.
SCORECARD_NAMESPACE ?= default
OPERATOR_SDK ?= $(LOCALBIN)/kubernetes/operator-sdk
OPM ?= $(LOCALBIN)/kubernetes/opm
export BUNDLE_IMG CATALOG_IMG

.PHONY: bundle
bundle: $(KUSTOMIZE) $(if $(filter file,$(origin OPERATOR_SDK)),operator-sdk) ## Generate bundle/ and bundle.Dockerfile for VERSION and IMG. Idempotent.
	@BUNDLE_DIR="$(BUNDLE_DIR)" BUNDLE_GEN_FLAGS="$(BUNDLE_GEN_FLAGS)" CHANNELS="$(CHANNELS)" KUSTOMIZE="$(KUSTOMIZE)" \
	DEFAULT_CHANNEL="$(DEFAULT_CHANNEL)" IMG="$(IMG)" AGENT_IMG="$(AGENT_IMG)" \
	MEMCACHED_IMAGE="$(MEMCACHED_IMAGE)" OPERATOR_SDK="$(OPERATOR_SDK)" \
	OPENSHIFT_VERSIONS="$(OPENSHIFT_VERSIONS)" USE_IMAGE_DIGESTS="$(USE_IMAGE_DIGESTS)" hack/bundle/bundle.sh

.PHONY: community
community: check-version # writes the files for pull requests to the community catalogs of Kubernetes and OpenShift to COMMUNITY_DIR
	@BUNDLE_DIR="$(BUNDLE_DIR)" COMMUNITY_DIR="$(COMMUNITY_DIR)" COMMUNITY_REVIEWERS="$(COMMUNITY_REVIEWERS)" \
	OPENSHIFT_CATALOGS="$(OPENSHIFT_CATALOGS)" hack/bundle/community.sh

.PHONY: bundle-validate
bundle-validate: operator-sdk ## Check bundle/ with every validator of operator-sdk.
	$(OPERATOR_SDK) bundle validate $(BUNDLE_DIR) --select-optional suite=operatorframework

.PHONY: bundle-build
bundle-build: check-container-tool ## Build the bundle image BUNDLE_IMG.
	$(CONTAINER_TOOL) build -f $(BUNDLE_DIR).Dockerfile -t $(BUNDLE_IMG) $(dir $(BUNDLE_DIR))

.PHONY: bundle-push
bundle-push: check-container-tool
	$(CONTAINER_TOOL) push $(BUNDLE_IMG)

.PHONY: catalog
catalog: $(if $(filter file,$(origin OPM)),opm) ## Render the catalog: the channels in catalog/template.yaml, and the bundles.
	@mkdir -p $(CATALOG_DIR)
	@{ cat $(CATALOG_TEMPLATE); for bundle in $(CATALOG_BUNDLES); do $(OPM) render "$$bundle" --output=yaml \
		--migrate-level=bundle-object-to-csv-metadata --alpha-image-ref-template='$(IMAGE_TAG_BASE)-bundle:v{{.Version}}'; done; } \
		>$(CATALOG_DIR)/catalog.yaml
	$(OPM) validate $(CATALOG_DIR)

.PHONY: catalog-build
catalog-build: check-container-tool catalog-dockerfile ## Build the catalog image CATALOG_IMG from CATALOG_DIR.
	$(CONTAINER_TOOL) build -f $(CATALOG_DIR).Dockerfile -t $(CATALOG_IMG) $(dir $(CATALOG_DIR))

.PHONY: catalog-dockerfile
catalog-dockerfile: opm
	@rm -f $(CATALOG_DIR).Dockerfile
	@$(OPM) generate dockerfile $(CATALOG_DIR) --base-image $(OPM_IMG) --builder-image $(OPM_IMG)

.PHONY: catalog-push
catalog-push: check-container-tool
	$(CONTAINER_TOOL) push $(CATALOG_IMG)

.PHONY: scorecard
scorecard: operator-sdk ## Run the scorecard over bundle/, on the cluster of KUBECONFIG.
	$(OPERATOR_SDK) scorecard $(BUNDLE_DIR) --namespace $(SCORECARD_NAMESPACE) --wait-time 300s --pod-security restricted

.PHONY: operator-sdk opm
operator-sdk opm:
	@hack/binaries.sh $@
