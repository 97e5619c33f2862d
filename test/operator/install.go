// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/example/memcached-operator/test/simulated"
)

// Install applies config/default, and gives a group of users the permissions of the operator's service account. It returns the path of a
// kubeconfig file of the cluster's administrator. Start must run the operator, because the pods of its Deployment are simulated.
func Install(ctx context.Context, cluster *simulated.Cluster, group string) (admin string, err error) {
	if admin, err = cluster.KubeconfigFile("admin", "system:masters"); err != nil {
		return "", err
	}
	for _, command := range []string{
		"apply --server-side --kustomize config/default",
		"wait --for condition=Established crd/memcacheds.cache.example.com",
		"create clusterrolebinding " + group + " --clusterrole memcached-operator-manager-role --group " + group,
		"create rolebinding " + group + " --namespace " + Namespace + " --role memcached-operator-leader-election-role --group " + group,
	} {
		kubectl := exec.CommandContext(ctx, "bin/kubernetes/kubectl", append(strings.Fields(command), "--kubeconfig", admin)...)
		if output, err := kubectl.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w: %s", kubectl, err, output)
		}
	}
	return admin, nil
}
