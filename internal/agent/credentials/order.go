// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

var (
	errUnlisted = errors.New("this node is not in the list of nodes")
	errForeign  = errors.New("the list has nodes that are not those of this cache")
)

// nodesAfter returns the addresses after that of a node in a list. All must be nodes of the same
// cache, whoever wrote the list: they learn that the node knows the Secrets.
func nodesAfter(node, domain, list string) ([]string, error) {
	servers := strings.Split(list, ",")
	for i, server := range servers {
		if domain == "" || !strings.HasPrefix(server, node+domain+":") {
			continue
		}
		after := servers[i+1:]
		cache := node[:strings.LastIndex(node, "-")+1]
		own := regexp.MustCompile("^" + regexp.QuoteMeta(cache) + "[0-9]+" + regexp.QuoteMeta(domain) + ":[0-9]+$")
		if slices.ContainsFunc(after, func(s string) bool { return !own.MatchString(s) }) {
			return nil, errForeign
		}
		return after, nil
	}
	return nil, errUnlisted
}

// domainIn returns what follows the name of a pod of a StatefulSet in the addresses of its cache, .NAME.NAMESPACE.svc, from the file
// of host names that the kubelet writes. It is empty if that does not know the pod.
func domainIn(hosts, node string) string {
	for line := range strings.Lines(hosts) {
		line, _, _ = strings.Cut(line, "#")
		for name := range strings.FieldsSeq(line) {
			labels := strings.Split(name, ".")
			if len(labels) > 3 && labels[0] == node && labels[3] == "svc" {
				return "." + strings.Join(labels[1:4], ".")
			}
		}
	}
	return ""
}
