# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

# The next version, for the upgrade from the version of the checkout.
export NEXT_VERSION := $(shell awk -F '[.-]' '{ print $$1 "." $$2 "." $$3 + 1 }' <<<"$(VERSION)")

.PHONY: cluster-olm
cluster-olm: cluster-up $(KUSTOMIZE) # installs OLM on the local cluster, and pushes the bundle and the catalog of the checkout to its registry
	@hack/binaries.sh olm catalog package-server cpb opm grpc_health_probe helm operator-sdk scorecard-test
	@hack/cluster/olm.sh build
	@bin/cluster --name "$(CLUSTER)" exec hack/cluster/olm.sh install

# OLM_FLAGS are flags of ginkgo, such as --ginkgo.focus="upgrades". With SSL_CERT_FILE, operator-sdk and the suite read from the
# cluster's registry. An existing cluster is stopped first, because its node would keep running the old images.
OLM_FLAGS ?=
.PHONY: test-olm
test-olm: CLUSTER = olm
test-olm: bin/olm.test ## Test the OLM package on its own local cluster: install, upgrade and uninstall under OLM.
	@if [[ -x bin/cluster ]]; then bin/cluster --name $(CLUSTER) down; fi; trap 'bin/cluster --name $(CLUSTER) down' EXIT; \
	$(MAKE) --no-print-directory cluster-olm CLUSTER=$(CLUSTER); set -x; \
	bin/cluster --name $(CLUSTER) exec env --chdir test/olm SSL_CERT_FILE="$(CURDIR)/bin/clusters/$(CLUSTER)/ca.crt" \
		../../bin/olm.test --ginkgo.v --ginkgo.timeout=30m $(OLM_FLAGS)

.PHONY: bin/olm.test
bin/olm.test:
	@go test -c -tags olm -o $@ ./test/olm
