# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

##@ Local cluster (Linux, as root)

# Each name is a cluster of its own; several run side by side.
CLUSTER ?= local
# The command that cluster-exec runs.
CMD ?= kubectl get pods --all-namespaces

.PHONY: cluster-packages
cluster-packages: ## Install the Debian packages that the local cluster needs.
	@hack/cluster/packages.sh install

.PHONY: cluster-up
cluster-up: ## Start a Kubernetes cluster with a real node. The first run builds it: some minutes.
	@hack/cluster/packages.sh check
	@hack/binaries.sh etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl \
		containerd containerd-shim-runc-v2 registry coredns
	@hack/cluster/images.sh build
	@go build -o bin/cluster ./hack/cluster
	@bin/cluster --name "$(CLUSTER)" up

.PHONY: cluster-exec
cluster-exec: check-cluster ## Run CMD in the cluster, such as CMD="kubectl get nodes" or CMD=bash.
	@bin/cluster --name "$(CLUSTER)" exec bash -c "$$CMD"
export CMD

.PHONY: cluster-down
cluster-down: check-cluster ## End the cluster. Nothing of it stays.
	@bin/cluster --name "$(CLUSTER)" down

.PHONY: check-cluster
check-cluster:
	@[[ -x bin/cluster ]] || { echo "There is no local cluster yet: start one with make cluster-up." >&2; exit 2; }
