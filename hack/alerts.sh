#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

# Tests the alerts in config/components/monitoring with promtool, and checks the scrape configuration in docs/operations/monitoring.md.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
promtool=$(type -P promtool) || { hack/cluster/unpack.sh promtool promtool && promtool=bin/kubernetes/promtool; }
component=config/components/monitoring
dir=$(mktemp -d)
trap 'rm -rf "${dir}"' EXIT

cp "${component}"/testdata/*.yaml "${dir}"
tests=("${dir}"/*.yaml)
# The spec of a PrometheusRule is what Prometheus calls a rule file.
sed -e '1,/^spec:$/d' -e 's/^  //' "${component}/rules.yaml" >"${dir}/rules.yaml"
"${promtool}" check rules --lint=all --lint-fatal "${dir}/rules.yaml"
"${promtool}" test rules "${tests[@]}"

# Each alert needs a test in which it fires, which has exp_alerts, and one in which it does not.
awk '/alertname:/ { sub(/.*alertname: */, ""); sub(/}.*/, ""); name = $0; tested[name]++ }
	/exp_alerts:/ { fires[name]++ }
	/^ *- alert:/ { alerts[$3] }
	END { for (name in alerts) if (!fires[name] || tested[name] == fires[name]) { print name " is not tested both ways"; failed = 1 }
		exit failed }' "${tests[@]}" "${dir}/rules.yaml"

awk '/^scrape_configs:$/ { found = 1 } found && /^```$/ { exit } found' docs/operations/monitoring.md >"${dir}/prometheus.yaml"
grep -q job_name "${dir}/prometheus.yaml"
"${promtool}" check config --syntax-only "${dir}/prometheus.yaml"
