# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

##@ Develop: benchmark (Linux; starts its own simulated clusters)

# Flags of the benchmark, such as BENCH_FLAGS="-only requests" (3 minutes) or BENCH_FLAGS="-only resources -resources 10000".
BENCH_FLAGS ?=

.PHONY: bench
bench: bench-build ## Measure the operator: requests, speed, memory. Takes 12 minutes on 2 CPUs.
	@bin/bench $(BENCH_FLAGS)

.PHONY: bench-build
bench-build: build
	@hack/binaries.sh
	@go build -o bin/bench ./test/bench
