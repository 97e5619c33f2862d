# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Stores or finds a value with pymemcache. The arguments are a file with the code that creates "cache", and "store" or
# "find".

import sys

exec(open(sys.argv[1]).read())
assert cache.set("one-address", b"value") if sys.argv[2] == "store" else cache.get("one-address") == b"value"
print("done")
