// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package simulated

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/credentials"
)

// startDeadline limits each of the two waits during a start: for the API server and for the cluster nodes.
const startDeadline = 2 * time.Minute

//go:embed kwok.yaml
var kwokConfiguration []byte

// startAPIServer starts etcd and kube-apiserver, and waits until kube-apiserver is ready.
func (c *Cluster) startAPIServer(ctx context.Context, auditPolicy []byte) error {
	var err error
	if c.ca, err = credentials.NewAuthority("simulated-cluster"); err != nil {
		return fmt.Errorf("making the certificate authority: %w", err)
	}
	if err := writePKI(c.dir, c.ca); err != nil {
		return err
	}
	port, err := FreePort()
	if err != nil {
		return err
	}
	admin, err := c.ca.User("admin", mastersGroup)
	if err != nil {
		return err
	}
	c.Config = &rest.Config{
		Host: "https://" + net.JoinHostPort(loopback, strconv.Itoa(port)),
		TLSClientConfig: rest.TLSClientConfig{
			CAData: c.ca.PEM(), CertData: admin.Certificate, KeyData: admin.Key,
		},
		QPS: -1,
	}
	if err := c.run("etcd", etcdArgs(c.dir)); err != nil {
		return err
	}
	args := apiServerArgs(c.dir, port)
	if len(auditPolicy) > 0 {
		if err := os.WriteFile(filepath.Join(c.dir, auditPolicyFile), auditPolicy, 0o600); err != nil {
			return err
		}
		args = append(args, auditArgs(c.dir)...)
	}
	if err := c.run("kube-apiserver", args); err != nil {
		return err
	}
	return c.waitForAPIServer(ctx)
}

func writePKI(dir string, ca *credentials.Authority) error {
	server, err := ca.Server("kube-apiserver", "localhost", "kubernetes.default.svc", loopback)
	if err != nil {
		return err
	}
	serviceAccountKey, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return fmt.Errorf("making the key of the service accounts: %w", err)
	}
	for name, content := range map[string][]byte{
		caFile:                ca.PEM(),
		serverCertificateFile: server.Certificate,
		serverKeyFile:         server.Key,
		serviceAccountKeyFile: serviceAccountKey,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// waitForAPIServer waits until the API server is ready. It polls, because nothing can be watched yet.
func (c *Cluster) waitForAPIServer(ctx context.Context) error {
	clientset, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	ready := func(ctx context.Context) (bool, error) {
		return clientset.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil, nil
	}
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, startDeadline, true, ready); err != nil {
		return fmt.Errorf("waiting for kube-apiserver: %w", reasonOf(ctx, err))
	}
	return nil
}

// startControllers starts kube-controller-manager, kube-scheduler and kwok. It does not wait for them: startNodes waits for their effects.
func (c *Cluster) startControllers() error {
	if err := os.WriteFile(filepath.Join(c.dir, kwokFile), kwokConfiguration, 0o600); err != nil {
		return err
	}
	for _, component := range []struct {
		name, user string
		groups     []string
		args       func(dir, kubeconfig string) []string
	}{
		{"kube-controller-manager", "kube-controller-manager", []string{mastersGroup}, controllerManagerArgs},
		{"kube-scheduler", schedulerUser, nil, schedulerArgs},
		{"kwok", "kwok", []string{mastersGroup}, kwokArgs},
	} {
		kubeconfig, err := c.KubeconfigFile(component.user, component.groups...)
		if err != nil {
			return err
		}
		if err := c.run(component.name, component.args(c.dir, kubeconfig)); err != nil {
			return err
		}
	}
	return nil
}

// startNodes creates the cluster nodes and waits until pods can run on them: the cluster nodes are Ready and have no taints, and the
// default service account exists. Without that account, admission would refuse pods.
func (c *Cluster) startNodes(ctx context.Context, count int) error {
	k8s, err := client.New(c.Config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return err
	}
	for i := range count {
		if err := k8s.Create(ctx, node(i)); err != nil {
			return fmt.Errorf("creating node %d: %w", i, reasonOf(ctx, err))
		}
	}
	var missing error
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, startDeadline, true, func(ctx context.Context) (bool, error) {
		missing = missingNodes(ctx, k8s, count)
		return missing == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the nodes: %w: %w", reasonOf(ctx, err), missing)
	}
	return nil
}

// node returns the cluster node with the number i. The cluster nodes are spread over three zones.
func node(i int) *corev1.Node {
	name := fmt.Sprintf("node-%d", i)
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname:     name,
		corev1.LabelOSStable:     "linux",
		corev1.LabelTopologyZone: "zone-" + string("abc"[i%3]),
	}}}
}

func missingNodes(ctx context.Context, k8s client.Client, count int) error {
	var nodes corev1.NodeList
	if err := k8s.List(ctx, &nodes); err != nil {
		return err
	}
	usable := 0
	for i := range nodes.Items {
		if isReady(&nodes.Items[i]) && len(nodes.Items[i].Spec.Taints) == 0 {
			usable++
		}
	}
	if usable < count {
		return fmt.Errorf("%d of %d nodes are Ready and untainted", usable, count)
	}
	account := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "default"}
	return k8s.Get(ctx, account, &corev1.ServiceAccount{})
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
		return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
	})
}

// reasonOf returns the cause with which the context has ended, such as a failed component, or err if the context has not ended.
func reasonOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
