# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

##@ Release: Helm chart

# The folder to which make helm writes the chart.
CHART_DIR ?= dist/chart

.PHONY: helm
helm: check-version check-img ## Write the Helm chart for VERSION, IMG, AGENT_IMG and MEMCACHED_IMAGE to CHART_DIR.
	@cd hack/helm && go build -o $(LOCALBIN)/render-chart .
	@$(LOCALBIN)/render-chart --version "$$VERSION" --image "$(published-operator)" \
		--agent-image "$(published-agent)" --memcached-image "$(published-memcached)" --output "$(CHART_DIR)"
	@echo "$(CHART_DIR) contains the Helm chart memcached-operator $$VERSION, which installs $(published-operator)."
