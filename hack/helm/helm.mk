# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

##@ Release: Helm chart

chart = charts/memcached-operator
# The folder to which make helm writes the chart.
CHART_DIR ?= dist/chart
HELM ?= $(LOCALBIN)/kubernetes/helm

# of-kind prints the objects on standard input whose kind matches $(1).
of-kind = awk 'BEGIN { RS = "\n---\n" } ("\n" $$0) ~ /\nkind: $(1)\n/ { sub(/\n$$/, ""); printf "%s%s\n", n++ ? "---\n" : "", $$0 }'

.PHONY: helm-sync
helm-sync: $(KUSTOMIZE) # copies the CRDs, roles and policies of config/default into the chart
	@mkdir -p $(chart)/files
	@$(KUSTOMIZE) build config/crd >$(chart)/files/crds.yaml
	@$(KUSTOMIZE) build config/default | $(call of-kind,(Cluster)?Role(Binding)?) >$(chart)/files/rbac.yaml
	@$(KUSTOMIZE) build config/default | $(call of-kind,ValidatingAdmissionPolicy(Binding)?) >$(chart)/files/policies.yaml

.PHONY: helm
helm: check-version check-img ## Lint the Helm chart, and write it with VERSION, IMG, AGENT_IMG and MEMCACHED_IMAGE to CHART_DIR.
	@hack/binaries.sh helm
	@IMG="$(IMG)" AGENT_IMG="$(AGENT_IMG)" MEMCACHED_IMAGE="$(MEMCACHED_IMAGE)" HELM="$(HELM)" hack/helm/chart.sh "$(CHART_DIR)"

.PHONY: test-chart
test-chart: ## Compare what the Helm chart installs with config.
	@hack/binaries.sh helm
	HELM="$(HELM)" go test -count=1 -tags chart ./test/chart
