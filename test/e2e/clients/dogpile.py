# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Stores or finds a value like one_address.py, but with a region of dogpile.cache.

import sys

exec(open(sys.argv[1]).read())
created = []
assert region.get_or_create("dogpile", lambda: created.append(True) or "value") == "value"
assert bool(created) == (sys.argv[2] == "store"), "created %d times" % len(created)
print("done")
