#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

# Runs all suites except the benchmark, the endurance test and the mutations, which take hours. FROM=NAME begins with that suite.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source hack/checks.sh

check packages hack/cluster/packages.sh install
check lint make lint
check verify make verify
check olm make test-olm
check test make test
check race make test-race
check compatibility make test-compatibility
check faults make test-faults
check counts make bench-short
check platforms make build-platforms
check rehearsal make release-rehearsal
if missing=$(hack/cluster/olmv1.sh check 2>&1); then
	check olm-v1 make test-olm-v1
else
	printf '%-16s NOT RUN: %s\n' olm-v1 "${missing}"
fi
check demo env DEMO_EXIT=1 make demo
check demo-simulated env DEMO_EXIT=1 DEMO_NODES=simulated make demo
check e2e make test-e2e
finish
