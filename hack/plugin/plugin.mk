# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

##@ Use: kubectl memcached

.PHONY: kubectl-memcached
kubectl-memcached: check-version ## Build the kubectl plugin: bin/kubectl-memcached, to be put on the PATH.
	@go build -ldflags "-X main.version=v$(VERSION)" -o bin/kubectl-memcached ./cmd/kubectl-memcached
	@cp cmd/kubectl-memcached/kubectl_complete-memcached bin

##@ Release: the kubectl plugin

# The platforms on which people use kubectl.
PLUGIN_PLATFORMS ?= linux/amd64,linux/arm64,linux/ppc64le,linux/s390x,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64
# The address at which the archives will be published, without the version.
PLUGIN_URL ?= https://github.com/example/memcached-operator/releases/download

.PHONY: plugin
plugin: check-version ## Write the kubectl plugin for all PLUGIN_PLATFORMS, and its krew manifest, to dist/plugin.
	@VERSION="$(VERSION)" PLATFORMS="$(PLUGIN_PLATFORMS)" hack/plugin/archives.sh dist/plugin
	@VERSION="$(VERSION)" PLUGIN_URL="$(PLUGIN_URL)" hack/plugin/krew.sh dist/plugin >dist/plugin/memcached.yaml
	@echo "dist/plugin/memcached.yaml is the manifest for krew, with the archives beside it."
