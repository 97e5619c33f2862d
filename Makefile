# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

# A recipe that fails, for example on a full disk, leaves no half-written target behind.
.DELETE_ON_ERROR:

# The version in preparation, without a leading v. Image tags and the manifests' labels contain it as v$(VERSION).
VERSION ?= 0.1.0
# The common prefix of the image names. The default is a placeholder: set it, or IMG, to a registry you can push to.
IMAGE_TAG_BASE ?= example.com/memcached-operator
# The image of the operator. config/manager names the same image.
IMG ?= $(IMAGE_TAG_BASE):v$(VERSION)
# The image of the agent, which runs beside memcached. By default, it is IMG with -agent in front of the tag. If IMG has a digest, set
# AGENT_IMG as well.
AGENT_IMG ?= $(if $(findstring @,$(IMG)),,$(patsubst ./%,%,$(dir $(IMG)))$(patsubst %:,%,$(subst :,-agent:,$(notdir $(IMG)$(if \
	$(findstring :,$(notdir $(IMG))),,:)))))
# The tool that builds and pushes images: docker or podman.
CONTAINER_TOOL ?= docker
comma := ,
PLATFORMS ?= linux/amd64,linux/arm64,linux/ppc64le,linux/s390x
# The kustomization for deploy, undeploy and build-installer. With config/default, the operator serves all namespaces, with
# config/namespaced only its own.
KUSTOMIZATION ?= config/default
# The namespace to install into, instead of the one in KUSTOMIZATION.
DEPLOY_NAMESPACE ?=
# TEST_FLAGS are additional arguments for go test, such as TEST_FLAGS="-run Service -v", and RUN_ARGS for the operator in make run.
TEST_FLAGS ?=
RUN_ARGS ?=
# make expands these values. Without this check, $(shell ...) in a value would run before check-version and check-img see the value.
$(foreach name,VERSION IMG AGENT_IMG IMAGE_TAG_BASE,$(if $(filter command environment,$(firstword $(origin $(name)))),\
	$(if $(findstring $$,$(value $(name))),$(error $(name) contains a $$, which make would expand: give the value itself))))
export IMG VERSION

# Another version of Kubernetes for the API server of the tests than that of hack/kubernetes/go.mod, such as 1.33.x.
export ENVTEST_K8S_VERSION ?=
# The oldest supported version of Kubernetes. test-compatibility uses it, unless K8S_VERSION names another version.
OLDEST_K8S_VERSION ?= 1.30.14
K8S_VERSION ?= $(OLDEST_K8S_VERSION)
# The default memcached image is defined in config/manager only.
MEMCACHED_IMAGE = $(shell awk '/name: RELATED_IMAGE_MEMCACHED$$/ { getline; print $$2; exit }' config/manager/manager.yaml)

# Tools are built once into LOCALBIN. Their file names contain the version, so a new version never uses an old binary.
LOCALBIN ?= $(CURDIR)/bin
KUBECTL ?= kubectl
CONTROLLER_TOOLS_VERSION ?= v0.23.0
KUSTOMIZE_VERSION ?= v5.8.2
GOLANGCI_LINT_VERSION ?= v2.15.0
CRD_REF_DOCS_VERSION ?= v0.3.0
CONTROLLER_GEN ?= $(LOCALBIN)/controller-gen-$(CONTROLLER_TOOLS_VERSION)
KUSTOMIZE ?= $(LOCALBIN)/kustomize-$(KUSTOMIZE_VERSION)
GOLANGCI_LINT ?= $(LOCALBIN)/golangci-lint-$(GOLANGCI_LINT_VERSION)
CRD_REF_DOCS ?= $(LOCALBIN)/crd-ref-docs-$(CRD_REF_DOCS_VERSION)
# The folder in which all checkouts of a user share the commands that only tests and generators need. The names in it contain all that
# determines a command, such as its version.
export BINARIES_CACHE ?= $(HOME)/.cache/memcached-operator

# All builds and tests but test-race use the same flags, so that the operator, its tests, the tools and the clusters of the tests share
# compiled packages. Without debug information, these compile faster.
export CGO_ENABLED := 0
go-flags = -trimpath -gcflags=all=-dwarf=false
export GOFLAGS := $(go-flags) $(filter-out $(go-flags),$(shell go env GOFLAGS 2>/dev/null))

SHELL := /usr/bin/env bash
.SHELLFLAGS := -o errexit -o nounset -o pipefail -c
.DEFAULT_GOAL := help

# Help has a section for each reader: those who use the operator, develop it, or release it. Targets that only build a tool are
# left out.
##@ Use

.PHONY: help
help: ## Show this help.
	@escape=; if [[ -t 1 && -z "$${NO_COLOR:-}" ]]; then escape=$$'\033'; fi; awk -v escape="$$escape" ' \
		function styled(code, text) { return escape ? escape "[" code "m" text escape "[0m" : text } \
		BEGIN { FS = ":.*##"; printf "\nUsage:\n  make %s [VARIABLE=value ...]\n", styled(36, "<target>") } \
		/^##@/ { split(substr($$0, 5), section, ": "); reader = section[1] } \
		/^##@.*: / { text[reader] = text[reader] sprintf("  %s:\n", section[2]) } \
		/^[a-zA-Z_0-9-]+:.*?##/ { text[reader] = text[reader] sprintf("  %s%s\n", styled(36, sprintf("%-20s", $$1)), $$2) } \
		END { split("Use Develop Release", readers, " "); \
			for (i = 1; i in readers; i++) printf "\n%s\n%s", styled(1, readers[i]), text[readers[i]] }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Watch the operator work on a cluster of its own. DEMO_EXIT=1 exits after the story instead of waiting for Ctrl-C.
	@hack/demo/demo.sh

##@ Develop: generated files

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Generate the deepcopy code of the API types.
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt paths=./api/...

.PHONY: manifests
manifests: $(CONTROLLER_GEN) $(CRD_REF_DOCS) ## Generate CRDs and docs/api.md from the API types, the role from the markers in controllers, and copy them into the chart.
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:artifacts:config=config/crd/bases
	for crd in config/crd/bases/*.yaml; do go run ./hack/crd api/v1alpha1/rules.tmpl "$$crd" || exit; done
	$(CONTROLLER_GEN) rbac:roleName=manager-role paths=./controllers/... output:rbac:artifacts:config=config/rbac
	$(CRD_REF_DOCS) --source-path=api --config=hack/crd-ref-docs.yaml --templates-dir=hack/crd-ref-docs \
		--renderer=markdown --max-depth=20 --output-path=docs/api.md --log-level=ERROR
	@$(MAKE) --no-print-directory helm-sync

##@ Develop: checks

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run the linters. LINT_FLAGS=--fix fixes what they can fix. The first run compiles them, which takes some minutes.
	$(GOLANGCI_LINT) run $(LINT_FLAGS)

.PHONY: check-all
check-all: ## Run every suite but bench, as root, in up to two hours. FROM=NAME resumes, ONLY=NAME runs one.
	@FROM="$(FROM)" ONLY="$(ONLY)" CHECK_OUTPUT="$(CHECK_OUTPUT)" hack/check-all.sh

.PHONY: verify
verify: $(CONTROLLER_GEN) $(CRD_REF_DOCS) $(KUSTOMIZE) operator-sdk opm ## Check that everything generated is up to date. Changes nothing.
	@hack/verify.sh

##@ Develop: tests

# envtest would keep its port files in the user's cache folder, where nobody looks for them. Here they stay in LOCALBIN.
with-envtest = assets=$$(hack/apiserver.sh) && gocache=$$(go env GOCACHE) && set -x && \
	KUBEBUILDER_ASSETS="$$assets" KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=3m GOCACHE="$$gocache" XDG_CACHE_HOME="$(LOCALBIN)/cache"

.PHONY: test
test: ## Run every unit and envtest suite.
	@hack/memcached.sh
	@$(with-envtest) go test -timeout 30m $(TEST_FLAGS) ./...

.PHONY: test-alerts
test-alerts: ## Test the alerts with promtool.
	@hack/alerts.sh

# The packages with goroutines of their own.
concurrent-packages = ./cmd/... ./controllers/... ./internal/agent/... ./internal/apply/... ./internal/plugin

.PHONY: test-race
test-race: ## Run the suites of the packages with goroutines under the race detector. Needs a C compiler.
	@hack/memcached.sh
	@$(with-envtest) CGO_ENABLED=1 go test -race -timeout 30m $(TEST_FLAGS) $(concurrent-packages)

# The suites whose results depend on the API server, except test/faults.
compatibility-suites = ./api/... ./controllers/... ./internal/apply/... ./test/bundle ./test/policy ./test/testenv

.PHONY: test-compatibility
test-compatibility: ENVTEST_K8S_VERSION = $(K8S_VERSION)
test-compatibility: ## Run the suites about the API server with the oldest supported Kubernetes, or with K8S_VERSION=1.33.x.
	@unset KUBEBUILDER_ASSETS; $(with-envtest) go test -timeout 30m $(TEST_FLAGS) $(compatibility-suites)

# The scenarios that test-faults runs, such as FAULT_SCENARIOS="create|scale-.*". Scenarios spend most of their time waiting.
FAULT_SCENARIOS ?=

.PHONY: test-faults
test-faults: ## Test that the operator reaches the desired state whatever fails. TEST_FLAGS="-run ..." repeats one plan.
	@$(with-envtest) go test -tags faults -count=1 -timeout 2h -parallel 12 \
		$(if $(FAULT_SCENARIOS),-run "TestSweep/^($(FAULT_SCENARIOS))\$$") $(TEST_FLAGS) ./test/faults

##@ Develop: build and run

.PHONY: build
build: check-version ## Build the operator and its agent: bin/manager, bin/agent.
	go build -ldflags "-X main.version=v$(VERSION)" -o bin/manager .
	GOOS=linux go build -ldflags "-X main.version=v$(VERSION)" -o bin/agent ./cmd/agent # it runs in containers only

.PHONY: build-platforms
build-platforms: ## Compile what runs in the images for each of PLATFORMS.
	@for platform in $(subst $(comma), ,$(PLATFORMS)); do \
		echo "$$platform" && CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} go build -trimpath . ./cmd/agent || exit 1; \
	done

.PHONY: run
run: ## Run the operator on this machine, with the cluster of KUBECONFIG. RUN_ARGS are its flags.
	RELATED_IMAGE_MEMCACHED="$${RELATED_IMAGE_MEMCACHED:-$(MEMCACHED_IMAGE)}" \
		RELATED_IMAGE_MEMCACHED_AGENT="$${RELATED_IMAGE_MEMCACHED_AGENT:-$(AGENT_IMG)}" go run . $(RUN_ARGS)

##@ Release: the images and the manifests

REVISION ?= $(shell git rev-parse HEAD 2>/dev/null)
build-arguments = --build-arg VERSION="$$VERSION" --build-arg REVISION="$(REVISION)"

.PHONY: docker-build
docker-build: check-version check-img check-container-tool ## Build the images IMG and AGENT_IMG.
	$(CONTAINER_TOOL) build $(build-arguments) -t "$$IMG" .
	$(CONTAINER_TOOL) build $(build-arguments) --target agent -t "$(AGENT_IMG)" .

.PHONY: docker-push
docker-push: check-img check-container-tool ## Push the images IMG and AGENT_IMG.
	$(CONTAINER_TOOL) push "$$IMG"
	$(CONTAINER_TOOL) push "$(AGENT_IMG)"

.PHONY: docker-buildx
docker-buildx: check-version check-img check-container-tool ## Build and push the images IMG and AGENT_IMG for all PLATFORMS, with docker.
	-$(CONTAINER_TOOL) buildx create --name memcached-operator
	$(buildx) --tag "$$IMG" .
	$(buildx) --tag "$(AGENT_IMG)" --target agent .
buildx = $(CONTAINER_TOOL) buildx build --builder memcached-operator --platform=$(PLATFORMS) --push $(build-arguments)

.PHONY: build-installer
build-installer: check-version check-img $(KUSTOMIZE) ## Write the whole installation with the image IMG to dist/install.yaml.
	@mkdir -p dist
	@$(render) >dist/install.yaml
	@echo "dist/install.yaml installs $$IMG"

##@ Use: kubectl memcached

.PHONY: kubectl-memcached
kubectl-memcached: check-version ## Build the kubectl plugin: bin/kubectl-memcached, to be put on the PATH.
	@go build -ldflags "-X main.version=v$(VERSION)" -o bin/kubectl-memcached ./cmd/kubectl-memcached
	@cp cmd/kubectl-memcached/kubectl_complete-memcached bin

##@ Use: the cluster of KUBECONFIG

# ignore-not-found=true lets uninstall and undeploy skip objects that are already gone. CONFIRM=yes deletes caches without a question.
ignore-not-found ?= false
CONFIRM ?=

# render prints the manifests of KUSTOMIZATION, with the images IMG and AGENT_IMG. If DEPLOY_NAMESPACE is set, they are in that
# namespace. render edits a copy of config, so that the checkout stays clean.
define render
tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && cp -R config "$$tmp" && \
(cd "$$tmp/config/manager" && $(KUSTOMIZE) edit set image controller="$$IMG" agent="$(AGENT_IMG)") && \
$(if $(DEPLOY_NAMESPACE),(cd "$$tmp/$(KUSTOMIZATION)" && $(KUSTOMIZE) edit set namespace "$(DEPLOY_NAMESPACE)") &&) \
$(KUSTOMIZE) build "$$tmp/$(KUSTOMIZATION)"
endef

# Server-side apply also sets back what others have changed, such as the variables of the operator.
apply = $(KUBECTL) apply --server-side --force-conflicts --filename -
delete = $(KUBECTL) delete --ignore-not-found="$(ignore-not-found)" --filename -
# Prints the manifests except those whose deletion would delete caches.
without-caches = awk '{ text = text $$0 "\n" } /^kind: (CustomResourceDefinition|Namespace)$$/ { kept = 1 } \
	/^---$$/ { if (!kept) printf "%s", text; text = ""; kept = 0 } END { if (!kept) printf "%s", text }'
operator-namespace = $(or $(DEPLOY_NAMESPACE),memcached-operator-system)

.PHONY: install
install: check-kubectl $(KUSTOMIZE) ## Install the CRDs.
	@$(KUSTOMIZE) build config/crd | $(apply)

.PHONY: uninstall
uninstall: check-kubectl check-caches $(KUSTOMIZE) ## Delete the CRDs, and with them every cache. Asks if there are any.
	@$(KUSTOMIZE) build config/crd | $(delete)

.PHONY: deploy
deploy: check-kubectl check-img check-placeholder $(KUSTOMIZE) ## Install the operator with the image IMG and wait until it is ready.
	@$(render) | $(apply)
	@$(KUBECTL) rollout status deployment/memcached-operator-controller-manager --namespace "$(operator-namespace)" --timeout 2m || { \
		$(KUBECTL) describe pods --namespace "$(operator-namespace)" --selector control-plane=controller-manager; exit 1; }
	@echo "The operator runs. Next: kubectl apply --filename config/samples/cache_v1alpha1_memcached.yaml"

.PHONY: undeploy
undeploy: check-kubectl check-img $(KUSTOMIZE) ## Delete the operator. Its namespace, the CRDs and the caches stay.
	@$(render) | $(without-caches) | $(delete)
	@echo "The CRDs and the caches stay, and the nodes keep serving. make deploy adopts them, make undeploy-all deletes them."

.PHONY: undeploy-all
# undeploy may have deleted some objects before.
undeploy-all: ignore-not-found = true
undeploy-all: check-kubectl check-img check-caches $(KUSTOMIZE) ## Delete everything: the operator, the CRDs and every cache. Asks first.
	@$(render) | $(delete)

include hack/cluster/cluster.mk
include hack/cluster/olm.mk
include hack/bundle/bundle.mk
include hack/helm/helm.mk
include test/bench/bench.mk

# Tools are built when they are needed: if BINARIES_CACHE lacks a tool, the rule first builds it there. mv makes it appear in the cache only
# when it is complete.
$(CONTROLLER_GEN): package = sigs.k8s.io/controller-tools/cmd/controller-gen@$(CONTROLLER_TOOLS_VERSION)
$(KUSTOMIZE): package = sigs.k8s.io/kustomize/kustomize/v5@$(KUSTOMIZE_VERSION)
$(GOLANGCI_LINT): package = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
$(CRD_REF_DOCS): package = github.com/elastic/crd-ref-docs@$(CRD_REF_DOCS_VERSION)
$(CONTROLLER_GEN) $(KUSTOMIZE) $(GOLANGCI_LINT) $(CRD_REF_DOCS):
	@mkdir -p "$(@D)" "$(BINARIES_CACHE)" && cached="$(BINARIES_CACHE)/$(@F)-$$(go env GOVERSION)" && if [[ ! -x "$$cached" ]]; then \
	echo "Building $(package)" && tmp=$$(mktemp -d "$(BINARIES_CACHE)/.install.XXXXXX") && trap 'rm -rf "$$tmp"' EXIT && \
	GOBIN="$$tmp" go install "$(package)" && mv "$$tmp"/* "$$cached"; fi && touch "$$cached" && cp "$$cached" "$@"

# Each check explains in one sentence what is wrong and what to do.
.PHONY: check-version check-img check-placeholder check-container-tool check-caches check-kubectl
check-version:
	@[[ "$$VERSION" =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$$ ]] || { \
		echo "VERSION is '$$VERSION', but must be a semantic version without a leading v, such as 1.2.3." >&2; exit 2; }
check-img:
	@[[ "$$IMG" =~ ^[A-Za-z0-9][A-Za-z0-9._:/@-]*$$ ]] || { \
		echo "IMG is '$$IMG', but must name an image, such as registry.example.com/memcached-operator:v1.2.3." >&2; exit 2; }
	@[[ "$$AGENT_IMG" =~ ^[A-Za-z0-9][A-Za-z0-9._:/@-]*$$ ]] || { \
		echo "AGENT_IMG is '$$AGENT_IMG', but must name the image of the agent: its name follows from that of IMG only if IMG" \
			"has no digest." >&2; exit 2; }
check-img: export AGENT_IMG := $(AGENT_IMG)
check-placeholder:
	@[[ "$$IMG" != example.com/"memcached-operator:v$$VERSION" ]] || { \
		echo "IMG is the placeholder $$IMG, which no cluster can pull: build, push and name your own image, such as" \
			"make docker-build docker-push deploy IMG=registry.example.com/memcached-operator:v$$VERSION." >&2; exit 2; }
check-container-tool:
	@command -v $(CONTAINER_TOOL) >/dev/null || { \
		echo "$(CONTAINER_TOOL) is not installed: install it, or name another with CONTAINER_TOOL=podman." >&2; exit 2; }
# The target asks before it deletes caches. Without a terminal, only CONFIRM=yes confirms.
check-caches:
	@caches=$$($(KUBECTL) get memcacheds.cache.example.com --all-namespaces --output name --ignore-not-found 2>/dev/null || true); \
	answer="$(CONFIRM)"; [[ -n "$$caches" ]] || exit 0; \
	echo "This deletes all caches of the cluster $$($(KUBECTL) config current-context):" $$caches; \
	if [[ -z "$$answer" && -t 0 ]]; then read -r -p "Type yes to delete all of it: " answer; fi; \
	[[ "$$answer" == yes ]] || { echo "Nothing is deleted. CONFIRM=yes confirms without a question." >&2; exit 2; }
check-kubectl:
	@command -v $(KUBECTL) >/dev/null || { \
		echo "$(KUBECTL) is not installed: install it, or name it with KUBECTL=/path/to/kubectl." >&2; exit 2; }
