# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

##@ Fault injection

# How many scenarios are played at the same time: most of their time they wait.
FAULTS_PARALLEL ?= 12
# go test of the suite, with the arguments $(1).
test-faults-with = $(call go-test,go test -tags faults -count=1 -parallel $(FAULTS_PARALLEL) $(1) $(TEST_FLAGS) ./test/faults)

.PHONY: test-faults
test-faults: ## Test that the operator reaches the desired state whatever fails. TEST_FLAGS="-run ..." plays one plan again.
	$(call test-faults-with,-timeout 30m)

.PHONY: test-mutations
test-mutations: ## Take each defence away that a pattern of test/faults names, and see its test fail. Takes an hour.
	$(call go-test,go test -tags faults,mutations -count=1 -v -timeout 3h -run TestMutations $(TEST_FLAGS) ./test/faults)

# How long test-endurance creates, scales and deletes.
DURATION ?= 1h

.PHONY: test-endurance
test-endurance: ## Create, scale and delete for DURATION, and see that memory, goroutines and metrics return to what they were.
	$(call go-test,env ENDURANCE="$(DURATION)" go test -tags faults -count=1 -v -timeout 24h -run TestEndurance ./test/faults)
