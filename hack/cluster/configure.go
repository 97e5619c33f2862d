// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"text/template"

	"k8s.io/client-go/util/keyutil"

	"github.com/example/memcached-operator/test/credentials"
)

//go:embed config
var configuration embed.FS

// targets has the paths of configuration files, relative to the cluster's directory. A file that is not in targets is directly in
// this directory.
var targets = map[string]string{
	"hosts.toml":    "registries/_default/hosts.toml",
	"pods.conflist": "cni/pods.conflist",
}

// configure writes the credentials and the configuration of every component into the cluster's directory.
func (b *booting) configure(context.Context) error {
	if err := b.writeCredentials(); err != nil {
		return err
	}
	runc, err := exec.LookPath("runc")
	if err != nil {
		return err
	}
	templates, err := template.New("").Option("missingkey=error").ParseFS(configuration, "config/*")
	if err != nil {
		return err
	}
	values := map[string]string{
		"Dir": b.dir, "Cgroup": b.cgroup(), "Node": nodeName, "PodCIDR": podCIDR, "DNS": dnsIP,
		"ContainerdSocket": containerdSocket, "CNIPlugins": cniPlugins, "Runc": runc,
	}
	for _, t := range templates.Templates() {
		if err := b.writeFile(t, values); err != nil {
			return fmt.Errorf("writing %s: %w", t.Name(), err)
		}
	}
	return nil
}

func (b *booting) writeFile(t *template.Template, values map[string]string) error {
	name := t.Name()
	if target, ok := targets[name]; ok {
		name = target
	}
	if err := os.MkdirAll(filepath.Dir(b.file(name)), 0o700); err != nil {
		return err
	}
	file, err := os.Create(b.file(name))
	if err != nil {
		return err
	}
	if err := t.Execute(file, values); err != nil {
		_ = file.Close() // err matters more
		return err
	}
	return file.Close()
}

// writeCredentials creates a CA, and with it the certificates of servers, of clients, and of the users in kubeconfigs. It also
// creates the key for the tokens of ServiceAccounts.
func (b *booting) writeCredentials() error {
	ca, err := credentials.NewAuthority("local-cluster")
	if err != nil {
		return err
	}
	if err := os.WriteFile(b.file("ca.crt"), ca.PEM(), 0o600); err != nil {
		return err
	}
	serviceAccountKey, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return err
	}
	if err := os.WriteFile(b.file("service-account.key"), serviceAccountKey, 0o600); err != nil {
		return err
	}
	return errors.Join(
		b.writeServer(ca, "kube-apiserver", "localhost", "127.0.0.1", nodeIP, kubernetesIP, "kubernetes.default", "kubernetes.default.svc"),
		b.writeServer(ca, "kubelet", nodeName, nodeIP),
		b.writeServer(ca, "registry", "localhost", "127.0.0.1", nodeIP),
		b.writeClient(ca, "kubelet-client", "system:masters"),
		b.writeClient(ca, "front-proxy-client"),
		b.writeUser(ca, "admin", "admin", "system:masters"),
		b.writeUser(ca, "kube-controller-manager", "system:kube-controller-manager"),
		b.writeUser(ca, "kube-scheduler", "system:kube-scheduler"),
		b.writeUser(ca, "kube-proxy", "system:kube-proxy"),
		b.writeUser(ca, "kubelet", "system:node:"+nodeName, "system:nodes"),
	)
}

func (b *booting) writeServer(ca *credentials.Authority, name string, hosts ...string) error {
	id, err := ca.Server(name, hosts...)
	if err != nil {
		return err
	}
	return b.writeIdentity(name, id)
}

func (b *booting) writeClient(ca *credentials.Authority, name string, groups ...string) error {
	id, err := ca.User(name, groups...)
	if err != nil {
		return err
	}
	return b.writeIdentity(name, id)
}

func (b *booting) writeIdentity(name string, id credentials.Identity) error {
	if err := os.WriteFile(b.file(name+".crt"), id.Certificate, 0o600); err != nil {
		return err
	}
	return os.WriteFile(b.file(name+".key"), id.Key, 0o600)
}

func (b *booting) writeUser(ca *credentials.Authority, file, user string, groups ...string) error {
	return ca.WriteKubeconfig(b.file(file+".kubeconfig"), apiServerURL, user, groups...)
}
