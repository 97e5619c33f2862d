// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// WriteKubeconfig writes a kubeconfig file with a new client certificate for the user and the groups. server is the URL of the API
// server.
func (a *Authority) WriteKubeconfig(path, server, user string, groups ...string) error {
	id, err := a.User(user, groups...)
	if err != nil {
		return err
	}
	const cluster = "cluster"
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[cluster] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: a.pem}
	kubeconfig.AuthInfos[user] = &clientcmdapi.AuthInfo{
		ClientCertificateData: id.Certificate, ClientKeyData: id.Key,
	}
	kubeconfig.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user}
	kubeconfig.CurrentContext = cluster
	return clientcmd.WriteToFile(*kubeconfig, path)
}
