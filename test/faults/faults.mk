# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

##@ Develop: fault injection

# How many scenarios run at the same time. They spend most of their time waiting.
FAULTS_PARALLEL ?= 12

# The scenarios that test-faults runs, such as FAULT_SCENARIOS="create|scale-.*". By default it runs all of them, and the other tests
# of test/faults.
FAULT_SCENARIOS ?=

.PHONY: test-faults
test-faults: ## Test that the operator reaches the desired state whatever fails. TEST_FLAGS="-run ..." repeats one plan.
	@$(with-envtest) go test -tags faults -count=1 -timeout 2h -parallel $(FAULTS_PARALLEL) \
		$(if $(FAULT_SCENARIOS),-run "TestSweep/^($(FAULT_SCENARIOS))\$$") $(TEST_FLAGS) ./test/faults
