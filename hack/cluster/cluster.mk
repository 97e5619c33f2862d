# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

##@ Develop: local cluster (Linux, as root)

# The name of the cluster. Clusters with different names run side by side.
CLUSTER ?= local
# The command that cluster-exec runs.
CMD ?= kubectl get pods --all-namespaces

.PHONY: cluster-up
cluster-up: $(KUSTOMIZE) ## Start a Kubernetes cluster with a real node. The first run builds it, which takes some minutes.
	@hack/cluster/packages.sh cluster
	@hack/cluster/unpack.sh containerd containerd containerd-shim-runc-v2
	@hack/binaries.sh kubelet kube-controller-manager kube-apiserver kube-scheduler kube-proxy kubectl coredns etcd
	@hack/cluster/images.sh build
	@go build -o bin/cluster ./hack/cluster
	@bin/cluster --name "$(CLUSTER)" up

.PHONY: cluster-exec
cluster-exec: check-cluster ## Run CMD in the cluster, such as CMD="kubectl get nodes" or CMD=bash.
	@bin/cluster --name "$(CLUSTER)" exec bash -c "$$CMD"
export CMD

.PHONY: cluster-down
cluster-down: check-cluster ## Stop the cluster and remove everything it started.
	@bin/cluster --name "$(CLUSTER)" down

.PHONY: check-cluster
check-cluster:
	@[[ -x bin/cluster ]] || { echo "There is no local cluster yet: start one with make cluster-up." >&2; exit 2; }

# If KUBECONFIG is set, test-e2e deploys IMG to its cluster and tests it there. Otherwise, test-e2e starts a local cluster of its own,
# and tests the image that cluster-up builds. E2E_FLAGS are flags of ginkgo, such as --ginkgo.focus="scale".
E2E_FLAGS ?=
e2e = bin/e2e.test --ginkgo.v --ginkgo.timeout=2h

.PHONY: test-e2e
ifdef KUBECONFIG
test-e2e: check-kubectl check-img $(KUSTOMIZE) bin/e2e.test kubectl-memcached ## Run the end-to-end tests on their own cluster, or on that of KUBECONFIG.
	cd test/e2e && ../../$(e2e) --ginkgo.label-filter='!local-cluster' $(E2E_FLAGS)
else
test-e2e: CLUSTER = e2e
test-e2e: $(KUSTOMIZE) bin/e2e.test kubectl-memcached
	@$(MAKE) --no-print-directory cluster-up CLUSTER=$(CLUSTER)
	@trap 'bin/cluster --name $(CLUSTER) down' EXIT; \
	hack/binaries.sh kwok helm; \
	hack/cluster/unpack.sh prometheus prometheus; hack/cluster/images.sh upgraded; image=$$(cat bin/images/operator); $(MAKE) --no-print-directory helm IMG="$$image" CHART_DIR=bin/chart; set -x; \
	bin/cluster --name $(CLUSTER) exec env --chdir test/e2e IMG="$$image" E2E_UPGRADED_IMG="$$image-upgraded" \
		E2E_CLUSTER_DIR="$(CURDIR)/bin/clusters/$(CLUSTER)" \
		E2E_CHART="$(CURDIR)/bin/chart" ../../$(e2e) $(E2E_FLAGS)
endif

# The suites that run in a cluster are compiled beforehand, because its network namespace cannot reach a module proxy.
.PHONY: bin/e2e.test
bin/e2e.test:
	@go test -c -tags e2e -o $@ ./test/e2e
