# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

##@ Develop: benchmark (Linux; starts its own simulated clusters)

# Additional flags of the benchmark, such as BENCH_FLAGS="-only M1,M2", "-json FILE" or "-update docs/benchmarks.md".
BENCH_FLAGS ?=

.PHONY: bench
bench: bench-build ## Measure the operator: requests, speed, memory. Takes more than an hour on 2 CPUs.
	@bin/bench $(BENCH_FLAGS)

.PHONY: bench-full
bench-full: bench-build ## Measure in five interleaved rounds, with 10 minutes of idling. Takes some hours.
	@bin/bench -rounds 5 -idle 10m $(BENCH_FLAGS)

# With so few resources, ratios and times mean nothing: only the counts must be right.
.PHONY: bench-short
bench-short: bench-build ## Check in a few minutes that the benchmark runs and that the counts hold.
	@bin/bench -gate counts -only M1,M2,M3,M4,M8,M10,M11,M12,M13 -resources 200 -statefulsets 50 -monitored 50 -secured 20 -many 200 \
		-large 200 -nodes 100 -hostile 10 -clients 1000 -cache 64 -scrapes 100 -requests 10000 -idle 2s -resync 15s $(BENCH_FLAGS)

.PHONY: bench-in-place
bench-in-place: ## Measure changes in place (M14) on a local cluster, as root, in 20 minutes. The tables are in the output.
	@$(MAKE) --no-print-directory test-e2e E2E_FLAGS=--ginkgo.label-filter=measured

.PHONY: bench-build
bench-build: build
	@hack/binaries.sh
	@hack/memcached.sh || echo "Without memcached, all but M11, M13 and M15 can be measured: select it with BENCH_FLAGS=\"-only ...\"." >&2
	@go build -o bin/bench ./test/bench
