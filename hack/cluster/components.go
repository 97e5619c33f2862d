// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

const containerdSocket = "/run/containerd/containerd.sock"

// cniPlugins is the folder in which Debian installs the CNI plugins.
const cniPlugins = "/usr/lib/cni"

// component is a program in bin/kubernetes that runs as long as the cluster does.
type component struct {
	name string
	args []string
}

func etcd(c *cluster) component {
	return component{name: "etcd", args: []string{
		"--name=etcd",
		"--data-dir=" + c.file("etcd"),
		"--log-level=warn",
		// Losing data is no problem, because no data outlives the cluster.
		"--unsafe-no-fsync",
	}}
}

func apiServer(c *cluster) component {
	return component{name: "kube-apiserver", args: []string{
		"--etcd-servers=http://127.0.0.1:2379",
		"--advertise-address=" + nodeIP,
		"--service-cluster-ip-range=" + serviceCIDR,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged",
		"--client-ca-file=" + c.file("ca.crt"),
		"--tls-cert-file=" + c.file("kube-apiserver.crt"),
		"--tls-private-key-file=" + c.file("kube-apiserver.key"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + c.file("service-account.key"),
		"--service-account-signing-key-file=" + c.file("service-account.key"),
		"--kubelet-certificate-authority=" + c.file("ca.crt"),
		"--kubelet-client-certificate=" + c.file("kubelet-client.crt"),
		"--kubelet-client-key=" + c.file("kubelet-client.key"),
		// For kubectl logs and exec, the API server connects to the kubelet by address, because no DNS server has the node's name.
		"--kubelet-preferred-address-types=InternalIP",
		// All flags from here to --enable-aggregator-routing are for aggregated API servers, such as OLM's package server.
		"--requestheader-client-ca-file=" + c.file("ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + c.file("front-proxy-client.crt"),
		"--proxy-client-key-file=" + c.file("front-proxy-client.key"),
		"--enable-aggregator-routing",
		"--audit-policy-file=" + c.file("audit-policy.yaml"),
		"--audit-log-path=" + c.file("audit.log"),
	}}
}

func controllerManager(c *cluster) component {
	return component{name: "kube-controller-manager", args: []string{
		"--kubeconfig=" + c.file("kube-controller-manager.kubeconfig"),
		"--leader-elect=false",
		"--use-service-account-credentials",
		"--root-ca-file=" + c.file("ca.crt"),
		"--service-account-private-key-file=" + c.file("service-account.key"),
		// A test waits for this period, so it is shorter than the default of 15 s.
		"--horizontal-pod-autoscaler-sync-period=5s",
		// The default folder is outside of the cluster's own mounts, and would be created on the machine.
		"--flex-volume-plugin-dir=/var/lib/kubelet/volume-plugins",
	}}
}

func scheduler(c *cluster) component {
	return component{name: "kube-scheduler", args: []string{
		"--kubeconfig=" + c.file("kube-scheduler.kubeconfig"), "--leader-elect=false",
	}}
}

func containerd(c *cluster) component {
	return component{name: "containerd", args: []string{"--config=" + c.file("containerd.toml")}}
}

func kubelet(c *cluster) component {
	return component{name: "kubelet", args: []string{
		"--config=" + c.file("kubelet.yaml"),
		"--kubeconfig=" + c.file("kubelet.kubeconfig"),
		"--hostname-override=" + nodeName,
		"--node-ip=" + nodeIP,
	}}
}

func kubeProxy(c *cluster) component {
	return component{name: "kube-proxy", args: []string{"--config=" + c.file("kube-proxy.yaml")}}
}
