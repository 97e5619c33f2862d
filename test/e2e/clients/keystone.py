# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Stores or finds a value like one_address.py, but with oslo.cache and the configuration of an OpenStack service.

import sys

from oslo_cache import core
from oslo_config import cfg

configuration = cfg.ConfigOpts()
core.configure(configuration)
configuration([], project="keystone", default_config_files=[sys.argv[1]])
region = core.configure_cache_region(configuration, core.create_region())
created = []
assert region.get_or_create("keystone", lambda: created.append(True) or "value") == "value"
assert bool(created) == (sys.argv[2] == "store"), "created %d times" % len(created)
print("done")
