# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

##@ Develop: hostile clients (Linux)

.PHONY: test-hostile
test-hostile: ## Measure what TLS handshakes that do not end cost memcached. Takes a minute.
	@hack/memcached.sh
	go test -tags hostile -count=1 -v $(TEST_FLAGS) ./test/hostile
