# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

##@ Develop: checks of the manifests

KUBE_SCORE_VERSION ?= v1.20.0
GOVULNCHECK_VERSION ?= v1.9.0
KUBE_SCORE ?= $(LOCALBIN)/kube-score-$(KUBE_SCORE_VERSION)
GOVULNCHECK ?= $(LOCALBIN)/govulncheck-$(GOVULNCHECK_VERSION)

lint: lint-manifests

.PHONY: lint-manifests
lint-manifests: $(KUBE_SCORE) $(KUSTOMIZE) ## Check the manifests, and the objects of every golden Memcached, with kube-score.
	@KUBE_SCORE="$(KUBE_SCORE)" KUSTOMIZE="$(KUSTOMIZE)" hack/security/lint-manifests.sh

.PHONY: vulnerabilities
vulnerabilities: $(GOVULNCHECK) ## Name the known vulnerabilities that the code can reach. Needs the internet: vuln.go.dev.
	$(GOVULNCHECK) ./...

$(KUBE_SCORE):
	$(call go-install,github.com/zegl/kube-score/cmd/kube-score,$(KUBE_SCORE_VERSION))

$(GOVULNCHECK):
	$(call go-install,golang.org/x/vuln/cmd/govulncheck,$(GOVULNCHECK_VERSION))
