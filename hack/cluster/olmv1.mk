# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

.PHONY: cluster-olm-v1
cluster-olm-v1: $(KUSTOMIZE) ## Install OLM v1 on the local cluster. Push the bundle and the catalog of the checkout to its registry.
	@hack/cluster/olmv1.sh check
	@$(MAKE) --no-print-directory cluster-up
	@hack/binaries.sh olm catalog package-server cpb opm grpc_health_probe helm operator-sdk scorecard-test
	@hack/cluster/olm.sh build
	@hack/cluster/olmv1.sh build
	@bin/cluster --name "$(CLUSTER)" exec hack/cluster/olm.sh push "bin/clusters/$(CLUSTER)/ca.crt"
	@bin/cluster --name "$(CLUSTER)" exec hack/cluster/olmv1.sh push "bin/clusters/$(CLUSTER)/ca.crt"
	@bin/cluster --name "$(CLUSTER)" exec hack/cluster/olmv1.sh install "bin/clusters/$(CLUSTER)/ca.crt"

# OLM_FLAGS are flags of ginkgo, as for test-olm.
.PHONY: test-olm-v1
test-olm-v1: CLUSTER = olmv1
test-olm-v1: bin/olmv1.test ## Test the operator as a ClusterExtension of OLM v1, on its own local cluster.
	@if [[ -x bin/cluster ]]; then bin/cluster --name $(CLUSTER) down; fi; trap 'bin/cluster --name $(CLUSTER) down' EXIT; \
	$(MAKE) --no-print-directory cluster-olm-v1 CLUSTER=$(CLUSTER); set -x; \
	bin/cluster --name $(CLUSTER) exec env --chdir test/olmv1 ../../bin/olmv1.test --ginkgo.v --ginkgo.timeout=15m $(OLM_FLAGS)

.PHONY: bin/olmv1.test
bin/olmv1.test:
	@$(compile-tests) -tags olmv1 -o $@ ./test/olmv1
