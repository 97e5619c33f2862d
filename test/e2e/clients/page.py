# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Stores or finds a value like one_address.py, but with the page of the tutorial.

import sys

__name__ = "page"
exec(open(sys.argv[1]).read())
text, source = page()
assert text == b"Hello" and source == ("made" if sys.argv[2] == "store" else "from the cache"), source
print("done")
