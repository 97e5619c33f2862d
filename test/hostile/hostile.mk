# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

##@ Develop: hostile clients (Linux)

# test-hostile sends each command 2 * ROUNDS times, because it measures only the second half. The nightly run sets ROUNDS to 100000.
ROUNDS ?= 2000

.PHONY: test-hostile
test-hostile: ## Send each command of memcached in a loop, and handshakes that do not end: measure what they cost. Takes a minute.
	@hack/memcached.sh
	ROUNDS="$(ROUNDS)" go test -tags hostile -count=1 -v -timeout 3h $(TEST_FLAGS) ./test/hostile
