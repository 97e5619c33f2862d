# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Stores or finds a value like one_address.py, but with the settings of Django. The sessions are only in the cache: there is no database.

import sys

from django.conf import settings

exec(open(sys.argv[1]).read())
settings.configure(CACHES=CACHES, USE_TZ=True)
from django.contrib.sessions.backends.cache import SessionStore
from django.core.cache import cache

if sys.argv[2] == "store":
    cache.set("django", {"a": "value"})
    session = SessionStore("0123456789abcdef0123456789abcdef")
    session["user"] = 42
    session.save()
    cache.set("session", session.session_key)
else:
    assert cache.get("django") == {"a": "value"}
    assert SessionStore(cache.get("session"))["user"] == 42
print("done")
