# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# An application of pymemcache: its arguments are the code that creates the cache, and a step, store or find.

import sys

exec(open(sys.argv[1]).read())
assert cache.set("one-address", b"value") if sys.argv[2] == "store" else cache.get("one-address") == b"value"
print("done")
