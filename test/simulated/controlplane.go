// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package simulated

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
)

// loopback is the address of the API server, the only component that listens on TCP.
const loopback = "127.0.0.1"

// The names of files in the directory of a cluster.
const (
	caFile                = "ca.crt"
	serverCertificateFile = "kube-apiserver.crt"
	serverKeyFile         = "kube-apiserver.key"
	serviceAccountKeyFile = "service-account.key"
	kwokFile              = "kwok.yaml"
	auditPolicyFile       = "audit-policy.yaml"
	auditLogFile          = "audit.log"
)

// The client rate limits of the components are so high that they do not affect a benchmark.
const clientQPS, clientBurst = "--kube-api-qps=1000", "--kube-api-burst=2000"

// FreePort returns a TCP port that is unused on the loopback interface.
func FreePort() (int, error) {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.ParseIP(loopback)})
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	address, err := net.ResolveTCPAddr("tcp", listener.Addr().String())
	if err != nil {
		return 0, errors.Join(err, listener.Close())
	}
	return address.Port, listener.Close()
}

// etcdURL returns the URL of a socket in the cluster's directory. etcd does not authenticate clients, but other users cannot enter
// the directory.
func etcdURL(dir string) string { return "unix://" + filepath.Join(dir, "etcd.sock") }

func etcdArgs(dir string) []string {
	// Even an etcd without peers needs an address for them. This address is a socket in the working directory.
	const peer = "unix://etcd-peer.sock"
	return []string{
		"--name=etcd",
		"--data-dir=" + filepath.Join(dir, "etcd"),
		"--listen-client-urls=" + etcdURL(dir),
		"--advertise-client-urls=" + etcdURL(dir),
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=etcd=" + peer,
		"--log-level=warn",
		// The data need not survive a crash.
		"--unsafe-no-fsync",
	}
}

// apiServerArgs returns the arguments of the API server. The default admission plugins remain enabled, including ServiceAccount and
// PodSecurity, as in a real cluster.
func apiServerArgs(dir string, port int) []string {
	return []string{
		"--etcd-servers=" + etcdURL(dir),
		"--bind-address=" + loopback,
		fmt.Sprintf("--secure-port=%d", port),
		// Without these two arguments, the API server looks for a network interface for the Service "kubernetes", which nothing uses
		// here.
		"--advertise-address=" + loopback,
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + filepath.Join(dir, serverCertificateFile),
		"--tls-private-key-file=" + filepath.Join(dir, serverKeyFile),
		"--client-ca-file=" + filepath.Join(dir, caFile),
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.0.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + filepath.Join(dir, serviceAccountKeyFile),
		"--service-account-signing-key-file=" + filepath.Join(dir, serviceAccountKeyFile),
	}
}

// auditArgs returns the arguments with which the API server writes the audit log to one file, without rotation.
func auditArgs(dir string) []string {
	return []string{
		"--audit-policy-file=" + filepath.Join(dir, auditPolicyFile),
		"--audit-log-path=" + filepath.Join(dir, auditLogFile),
		"--audit-log-mode=blocking",
		"--audit-log-maxsize=1000000",
	}
}

func controllerManagerArgs(dir, kubeconfig string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--root-ca-file=" + filepath.Join(dir, caFile),
		"--service-account-private-key-file=" + filepath.Join(dir, serviceAccountKeyFile),
		"--leader-elect=false",
		"--secure-port=0",
		// When it runs as root, kube-controller-manager creates a directory for volume plugins, although none are needed. By default, this
		// directory is outside the directory of the cluster.
		"--flex-volume-plugin-dir=" + filepath.Join(dir, "volume-plugins"),
		// With the default of 5 workers, Deployments would wait for each other if many start at once.
		"--concurrent-deployment-syncs=20", "--concurrent-replicaset-syncs=20",
		"--concurrent-statefulset-syncs=20", "--concurrent-gc-syncs=20",
		clientQPS, clientBurst,
	}
}

func schedulerArgs(_, kubeconfig string) []string {
	return []string{"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--secure-port=0", clientQPS, clientBurst}
}

func kwokArgs(dir, kubeconfig string) []string {
	return []string{"--kubeconfig=" + kubeconfig, "--config=" + filepath.Join(dir, kwokFile)}
}
