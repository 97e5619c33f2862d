# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

##@ Develop: fault injection

# How many scenarios run at the same time. They spend most of their time waiting.
FAULTS_PARALLEL ?= 12

# The part of the plans that test-faults runs, such as 1/3. The default is all of them.
FAULT_SHARE ?=

.PHONY: test-faults
test-faults: ## Test that the operator reaches the desired state whatever fails. TEST_FLAGS="-run ..." repeats one plan.
	@$(with-envtest) env FAULT_SHARE="$(FAULT_SHARE)" go test -tags faults -count=1 -timeout 1h -parallel $(FAULTS_PARALLEL) $(TEST_FLAGS) ./test/faults

.PHONY: test-mutations
test-mutations: ## Remove each defense that a pattern of test/faults names, and check that its test fails. Takes 15 minutes.
	@$(with-envtest) go test -tags faults,mutations -count=1 -v -timeout 3h -run TestMutations $(TEST_FLAGS) ./test/faults

# How long test-endurance runs.
DURATION ?= 1h

.PHONY: test-endurance
test-endurance: ## Create, scale and delete for DURATION, and check that memory, goroutines and metrics return to their initial values.
	@$(with-envtest) env ENDURANCE="$(DURATION)" go test -tags faults -count=1 -v -timeout 24h -run TestEndurance ./test/faults
