// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/internal/memcached"
)

// member is a node as clients know it.
type member struct {
	host string
	port int
	// pod is the name of the node's pod.
	pod string
}

// server is the host:port of the node.
func (m member) server() string { return net.JoinHostPort(m.host, strconv.Itoa(m.port)) }

// ringName is the name of the node on libmemcached's hash ring. The default port is not part of it.
func (m member) ringName() string {
	if m.port == memcached.Port {
		return m.host
	}
	return m.server()
}

// Values of --nodes-by.
const (
	byName    = "name"
	byAddress = "address"
)

// membersOf returns the nodes that clients use, in natural order. Unless v.by says otherwise, clients know nodes with stable names by name,
// and other nodes by address. Clients that know nodes by name also use nodes that are not ready. Clients that know nodes by address find
// only ready nodes in the DNS.
func membersOf(mc *cachev1alpha1.Memcached, pods []corev1.Pod, v view) ([]member, error) {
	members, err := announced(mc, pods, v.by)
	if err != nil || v.port == 0 {
		return members, err
	}
	if len(pods) > 0 && !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return opens(&pod, v.port) }) {
		remedy := map[int]string{memcached.Port: "spec.tls.plaintext: Enabled", memcached.TLSPort: "spec.tls"}[v.port]
		return nil, fmt.Errorf("the nodes of %s/%s do not open port %d: %s does", mc.Namespace, mc.Name, v.port, remedy)
	}
	for i := range members {
		members[i].port = v.port
	}
	return members, nil
}

// announced returns the nodes that membersOf returns, but with the ports that the operator announces.
func announced(mc *cachev1alpha1.Memcached, pods []corev1.Pod, by string) ([]member, error) {
	named := len(mc.Status.Servers) > 0
	if by == byName && !named {
		return nil, noNames(mc)
	}
	var members []member
	if named && by != byAddress {
		for _, server := range mc.Status.Servers {
			host, port, err := net.SplitHostPort(server)
			if err != nil {
				return nil, fmt.Errorf("status.servers: %w", err)
			}
			number, err := strconv.Atoi(port)
			if err != nil {
				return nil, fmt.Errorf("status.servers: %w", err)
			}
			pod, _, _ := strings.Cut(host, ".")
			members = append(members, member{host, number, pod})
		}
		return members, nil
	}
	for i := range pods {
		if serves(&pods[i]) {
			members = append(members, member{pods[i].Status.PodIP, clientPortOf(&pods[i]), pods[i].Name})
		}
	}
	if len(members) == 0 {
		return nil, fmt.Errorf("%s/%s has no ready node", mc.Namespace, mc.Name)
	}
	slices.SortFunc(members, func(a, b member) int { return naturally(a.server(), b.server()) })
	return members, nil
}

// noNames says why a cache has no names of nodes.
func noNames(mc *cachev1alpha1.Memcached) error {
	if memcached.WorkloadKind(mc) == cachev1alpha1.WorkloadStatefulSet {
		return fmt.Errorf("%s/%s has no nodes", mc.Namespace, mc.Name)
	}
	return fmt.Errorf("the nodes of %s/%s have no stable names: those of a StatefulSet do, see spec.workload", mc.Namespace, mc.Name)
}

// hashes are the values of --hash.
var hashes = []string{"ketama", "modula", "jump"}

// ownerOf returns the member that holds a key, if clients use this hash.
func ownerOf(members []member, hash, key string) member {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.ringName()
	}
	owner := map[string]func([]string) memcache.Owner{"ketama": memcache.Ketama, "modula": memcache.Modula, "jump": memcache.Jump}[hash](names)
	return members[owner(key)]
}

// placement holds the flags that say how clients find the node of a key.
type placement struct {
	view

	hash string
}

func (p *placement) bind(command *cobra.Command) {
	command.Flags().StringVar(&p.hash, "hash", hashes[0],
		"How clients choose the node: ketama, modula or jump")
	p.view.bind(command)
	_ = command.RegisterFlagCompletionFunc("hash", cobra.FixedCompletions(hashes, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

func (p *placement) validate(command *cobra.Command) error {
	if !slices.Contains(hashes, p.hash) {
		return misuse(command, "--hash is %q, but must be %s", p.hash, strings.Join(hashes, ", "))
	}
	return p.view.validate(command)
}

// view holds the flags that say whether clients know the nodes by name or by IP address, and at which port.
type view struct {
	by string
	// port is the port that clients use, or 0 for the port that the operator announces.
	port int
}

func (v *view) bind(command *cobra.Command) {
	command.Flags().StringVar(&v.by, "nodes-by", "",
		"How clients know the nodes: name or address. The default is name if status.servers has names")
	command.Flags().IntVar(&v.port, "port", 0,
		"The port that clients use: 11211, or 11212 for TLS. The default is 11211 if the nodes open it")
	for flag, values := range map[string][]string{
		"nodes-by": {byName, byAddress},
		"port":     {strconv.Itoa(memcached.Port), strconv.Itoa(memcached.TLSPort)},
	} {
		_ = command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	}
}

func (v *view) validate(command *cobra.Command) error {
	if v.by != "" && v.by != byName && v.by != byAddress {
		return misuse(command, "--nodes-by is %q, but must be %s or %s", v.by, byName, byAddress)
	}
	if command.Flags().Changed("port") && v.port != memcached.Port && v.port != memcached.TLSPort {
		return misuse(command, "--port is %d, but must be %d or %d", v.port, memcached.Port, memcached.TLSPort)
	}
	return nil
}

func listOf(pods []corev1.Pod) string {
	names := make([]string, len(pods))
	for i := range pods {
		names[i] = pods[i].Name
	}
	return strings.Join(names, ", ")
}
