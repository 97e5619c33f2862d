// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/monitoring"
)

const (
	// faster is how many times shorter all durations in the rules and queries are: a minute takes a second.
	faster = 60
	// scrapeInterval is longer than the second for which an agent waits for a hanging memcached. The rates in the
	// shortened rules cover five seconds, which is enough for three scrapes.
	scrapeInterval = "1500ms"
	// rateInterval replaces $__rate_interval in dashboards. Like Grafana's value, it is four scrape intervals.
	rateInterval = "6s"

	prometheusAddress = "127.0.0.1:9090"
	prometheusCommand = "../../bin/kubernetes/prometheus"
	// serviceAccount is the folder in which a pod finds the token of its account. The suite is not in a pod, so it creates the folder.
	serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"
)

// observed is a Prometheus with the scrape configuration of docs/operations/monitoring.md, and what it must report.
type observed struct {
	monitoring.Prometheus

	rules []monitoring.Rule
	// began is when clients began to use the caches, and broke is the last moment before the failures.
	began, broke time.Time
	// causes are the labels, by the name of the alert, of the alerts that must fire after the failures.
	causes map[string]model.LabelSet
}

// observe starts a Prometheus for the caches of a namespace until the spec ends.
func observe(ctx context.Context, namespace string) *observed {
	GinkgoHelper()
	o := &observed{causes: map[string]model.LabelSet{}}
	rules, file, err := monitoring.Rules(monitoring.Faster(clustertest.Read(monitoring.RulesFile), faster))
	Expect(err).NotTo(HaveOccurred())
	o.rules = slices.DeleteFunc(rules, func(rule monitoring.Rule) bool { return aboutOthers(rule.Expr) })
	dir := GinkgoT().TempDir()
	writeFile(filepath.Join(dir, "rules.yaml"), string(file))
	writeFile(filepath.Join(dir, "prometheus.yaml"), fmt.Sprintf(
		"global: {scrape_interval: %[1]s, scrape_timeout: %[1]s, evaluation_interval: 1s}\nrule_files: [rules.yaml]\n%[2]s",
		scrapeInterval, documentedIn("docs/operations/monitoring.md", "scrape configuration")))
	prometheus := applicationProcess(ctx, "KUBERNETES_SERVICE_PORT=443", clustertest.Must(filepath.Abs(prometheusCommand)),
		"--config.file=prometheus.yaml", "--storage.tsdb.path=data", "--web.listen-address="+prometheusAddress, "--log.level=warn")
	prometheus.Env = append(prometheus.Env, "KUBERNETES_SERVICE_HOST="+credentialsInPod(ctx, namespace))
	prometheus.Dir = dir
	startProcess(prometheus)
	o.Prometheus = clustertest.Must(monitoring.Connect("http://" + prometheusAddress))
	Eventually(ctx, func() error {
		_, err := o.Between(ctx, "vector(1)", time.Now(), time.Now())
		return err
	}).Should(Succeed())
	return o
}

// aboutOthers reports whether a query is about certificates, users, proxies or copies. The caches of this test have none of
// these. promtool tests the alerts about them.
func aboutOthers(query string) bool {
	return strings.Contains(query, "memcached_agent_") || strings.Contains(query, "memcached_proxy") || strings.Contains(query, "memcached_fill_")
}

// credentialsInPod creates a service account with the documented permissions, and writes its credentials to the files
// that a pod would have. It returns the IP address at which pods find the API server.
func credentialsInPod(ctx context.Context, namespace string) string {
	GinkgoHelper()
	const name, role = "prometheus", "prometheus-memcached"
	file := filepath.Join(GinkgoT().TempDir(), "role.yaml")
	writeFile(file, documentedIn("docs/operations/monitoring.md", "role of Prometheus"))
	token := tokenOf(ctx, namespace, name)
	k8s.Kubectl(ctx, "apply", "--filename", file)
	k8s.Kubectl(ctx, "create", "clusterrolebinding", role, "--clusterrole="+role, "--serviceaccount="+namespace+":"+name)
	DeferCleanup(func(ctx SpecContext) { k8s.Kubectl(ctx, "delete", "clusterrole,clusterrolebinding", role) })
	letReadMetrics(ctx, namespace, name)

	Expect(os.MkdirAll(serviceAccount, 0o700)).To(Succeed())
	DeferCleanup(os.RemoveAll, serviceAccount)
	writeFile(filepath.Join(serviceAccount, "token"), token)
	writeFile(filepath.Join(serviceAccount, "ca.crt"), string(clustertest.Must(os.ReadFile(filepath.Join(clusterDir, "ca.crt")))))
	var server corev1.Service
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: "default", Name: "kubernetes"}, &server)).To(Succeed())
	return server.Spec.ClusterIP
}

func (o *observed) untilData(ctx context.Context, query string) {
	GinkgoHelper()
	Eventually(ctx, func() (model.Matrix, error) {
		now := time.Now()
		return o.Between(ctx, query, now, now)
	}).ShouldNot(BeEmpty())
}

// untilSilent waits until no alert fires, because the start of the caches may have caused alerts. It sets broke. Only alerts that fire
// later count.
func (o *observed) untilSilent(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() (model.Matrix, error) {
		o.broke = time.Now()
		return o.Between(ctx, `ALERTS{alertstate="firing"}`, o.broke, o.broke)
	}).Should(BeEmpty())
}

// because records that an alert must fire for a cache. If pod is not nil, the alert must be about this pod.
func (o *observed) because(alert string, mc *cachev1alpha1.Memcached, pod *corev1.Pod) {
	labels := model.LabelSet{"namespace": model.LabelValue(mc.Namespace), "memcached": model.LabelValue(mc.Name)}
	if pod != nil {
		labels["pod"] = model.LabelValue(pod.Name)
	}
	o.causes[alert] = labels
}

// untilAllFired waits until every alert in causes has fired.
func (o *observed) untilAllFired(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		firing, err := o.Between(ctx, `ALERTS{alertstate="firing"}`, o.broke, time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		for alert, labels := range o.causes {
			g.Expect(slices.ContainsFunc(firing, func(stream *model.SampleStream) bool {
				return string(stream.Metric["alertname"]) == alert && covers(model.LabelSet(stream.Metric), labels)
			})).To(BeTrue(), alert)
		}
	}).WithPolling(time.Second).Should(Succeed())
}

func covers(metric, labels model.LabelSet) bool { return metric.Merge(labels).Equal(metric) }

// mustHaveData fails unless every rule and every query of the dashboards has had results. It leaves out queries for which aboutOthers
// returns true, and alerts that the test does not cause: these have results only when something is wrong.
func (o *observed) mustHaveData(ctx context.Context, dashboards ...monitoring.Dashboard) {
	GinkgoHelper()
	queries := map[string]string{}
	for _, rule := range o.rules {
		if _, caused := o.causes[rule.Alert]; caused || rule.Record != "" {
			queries["rule "+rule.Record+rule.Alert] = rule.Expr
		}
	}
	for _, dashboard := range dashboards {
		for _, panel := range dashboard.Panels {
			for i, query := range panel.Targets {
				count, _, _ := strings.Cut(query.Expr, " or 0 * ") // the part after "or" always has a result
				if !aboutOthers(count) {
					queries[fmt.Sprintf("%s, panel %s, query %d", dashboard.Title, panel.Title, i+1)] = count
				}
			}
		}
	}
	Expect(len(queries)).To(BeNumerically(">", 60))
	var empty []string
	for name, query := range queries {
		if len(clustertest.Must(o.Between(ctx, query, o.began, time.Now()))) == 0 {
			empty = append(empty, name+": "+query)
		}
	}
	Expect(empty).To(BeEmpty(), "queries without data")
}

// dashboard returns a dashboard with shorter durations. Like Grafana, it replaces the variables in the queries.
func dashboard(file, namespace, memcached string) monitoring.Dashboard {
	GinkgoHelper()
	variables := strings.NewReplacer("$__rate_interval", rateInterval, "$namespace", namespace, "$memcached", memcached)
	return clustertest.Must(monitoring.ParseDashboard(variables.Replace(monitoring.Faster(clustertest.Read(file), faster))))
}
