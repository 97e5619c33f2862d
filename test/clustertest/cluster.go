// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package clustertest is the toolbox of the Ginkgo suites that run on a real cluster. It connects to the cluster, runs commands,
// and creates, changes, awaits and uses Memcacheds. Functions without a result of type error fail the spec if an error occurs.
// "Ginkgo container" means a Describe or Context.
package clustertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/apiclient"
	"github.com/example/memcached-operator/test/traffic"
)

// root is the path from a suite's folder, in which Go runs the tests, to the root of the repository.
const root = "../.."

// Cluster is the cluster under test, with a client that has the permissions of an administrator.
type Cluster struct {
	client.WithWatch

	Config *rest.Config
	// Dial connects to pods. If it is nil, connections are direct, so the suite must run in the pod network.
	Dial traffic.DialFunc
	// Diagnostics returns kubectl commands, each without the word kubectl. Their output helps to explain a failure in the namespace.
	Diagnostics func(namespace string) []string
	// dir is the working directory of commands.
	dir string
}

// Connect connects to the cluster of KUBECONFIG and sets the timeouts of the suite. If one of the given environment variables is
// empty, Connect fails and names the make target that sets all of them. Each function in types registers more types for the client.
func Connect(target string, variables []string, types ...func(*runtime.Scheme) error) *Cluster {
	GinkgoHelper()
	SetDefaultEventuallyTimeout(2 * time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	ctrl.SetLogger(GinkgoLogr)
	for _, variable := range variables {
		Expect(os.Getenv(variable)).NotTo(BeEmpty(), "%s is not set: run %s", variable, target)
	}
	config := Must(ctrl.GetConfig())
	config.QPS = -1
	return &Cluster{WithWatch: Must(apiclient.New(config, types...)), Config: config, dir: root}
}

// Must returns the value, and fails the spec if there is an error.
func Must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}

// Read returns the content of a file in the repository.
func Read(path string) string {
	GinkgoHelper()
	return string(Must(os.ReadFile(filepath.Join(root, path))))
}

// Core labels the specs that .ci/run selects with the label filter "core". By default, the make targets do not use this filter.
var Core = Label("core")

// In returns the same cluster with another working directory for commands.
func (c *Cluster) In(dir string) *Cluster {
	other := *c
	other.dir = dir
	return &other
}

// Try runs a command and returns its standard output. The report contains the standard output and the standard error. If the command
// fails, the returned error contains both, too.
func (c *Cluster) Try(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr strings.Builder
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, &stdout, &stderr
	fmt.Fprintln(GinkgoWriter, "$", name, strings.Join(args, " "))
	err := cmd.Run()
	fmt.Fprint(GinkgoWriter, stdout.String(), stderr.String())
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), err
}

// Run runs a command, which must succeed, and returns its standard output.
func (c *Cluster) Run(ctx context.Context, name string, args ...string) string {
	GinkgoHelper()
	return Must(c.Try(ctx, name, args...))
}

// TryKubectl runs kubectl and returns its output.
func (c *Cluster) TryKubectl(ctx context.Context, args ...string) (string, error) {
	return c.Try(ctx, "kubectl", args...)
}

// Kubectl runs kubectl, which must succeed, and returns its output.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	return Must(c.TryKubectl(ctx, args...))
}

// Make runs make, which must succeed, and returns its standard output.
func (c *Cluster) Make(ctx context.Context, args ...string) string {
	GinkgoHelper()
	return c.Run(ctx, "make", append([]string{"--no-print-directory"}, args...)...)
}

// Report runs the Diagnostics of a namespace if the spec has failed. Their output goes to the report.
func (c *Cluster) Report(ctx context.Context, namespace string) {
	if !CurrentSpecReport().Failed() || c.Diagnostics == nil {
		return
	}
	for _, command := range c.Diagnostics(namespace) {
		_, _ = c.TryKubectl(ctx, strings.Fields(command)...)
	}
}

// AddTable adds a table to the report. The first row is the header.
func AddTable(title string, rows [][]string) {
	GinkgoHelper()
	AddReportEntry(title, Tabulate(rows), ReportEntryVisibilityAlways)
}

// Tabulate formats rows as text with aligned columns.
func Tabulate(rows [][]string) string {
	var table strings.Builder
	writer := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(writer, strings.Join(row, "\t"))
	}
	_ = writer.Flush() // writing to a strings.Builder cannot fail
	return table.String()
}

// Remains returns the objects whose name contains "memcached", each as "KIND NAME". It looks among the CustomResourceDefinitions,
// the ClusterRoles, the ClusterRoleBindings and the objects of the kinds in more.
func (c *Cluster) Remains(ctx context.Context, more ...schema.GroupVersionKind) []string {
	GinkgoHelper()
	var found []string
	for _, kind := range slices.Concat([]schema.GroupVersionKind{
		apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"),
		rbacv1.SchemeGroupVersion.WithKind("ClusterRole"),
		rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"),
	}, more) {
		var all metav1.PartialObjectMetadataList
		all.SetGroupVersionKind(kind)
		Expect(c.List(ctx, &all)).To(Succeed())
		for i := range all.Items {
			if name := all.Items[i].Name; strings.Contains(name, "memcached") {
				found = append(found, kind.Kind+" "+name)
			}
		}
	}
	return found
}
