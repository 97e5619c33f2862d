// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
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
	prometheusCommand = "../../bin/prometheus"
	// serviceAccount is the folder in which a pod finds the token of its account. The suite is not in a pod, so it creates the folder.
	serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"
)

// observed is a Prometheus with the scrape configuration of docs/operations/monitoring.md, and what it must report.
type observed struct {
	monitoring.Prometheus

	rules []monitoring.Rule
	// began is when clients began to use the caches, and broke is the last moment before the failures.
	began, broke time.Time
	// causes says, by the name of the alert, why each alert must fire after the failures.
	causes map[string]cause
}

// cause is what makes an alert fire, and the labels that the alert then has.
type cause struct {
	what   string
	labels model.LabelSet
}

// observe starts a Prometheus for the caches of a namespace until the spec ends.
func observe(ctx context.Context, namespace string) *observed {
	GinkgoHelper()
	o := &observed{causes: map[string]cause{}}
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

// aboutOthers reports whether a query is about certificates, users, proxies or spec.fillFrom. The caches of this test have none of
// these. promtool tests the alerts about them.
func aboutOthers(query string) bool {
	return strings.Contains(query, "memcached_agent_") || strings.Contains(query, "memcachedproxy") || strings.Contains(query, "memcached_fill_")
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

// because records why an alert must fire for a cache. If pod is not nil, the alert must be about this pod.
func (o *observed) because(alert, what string, mc *cachev1alpha1.Memcached, pod *corev1.Pod) {
	labels := model.LabelSet{"namespace": model.LabelValue(mc.Namespace), "memcached": model.LabelValue(mc.Name)}
	if pod != nil {
		labels["pod"] = model.LabelValue(pod.Name)
	}
	o.causes[alert] = cause{what, labels}
}

// fired returns the alerts that have fired for their causes. The value of each is the time from o.broke until the alert first fired.
func (o *observed) fired(ctx context.Context) (map[string]time.Duration, error) {
	first := map[string]time.Duration{}
	firing, err := o.Between(ctx, `ALERTS{alertstate="firing"}`, o.broke, time.Now())
	for _, stream := range firing {
		alert, after := string(stream.Metric["alertname"]), stream.Values[0].Timestamp.Time().Sub(o.broke)
		why, expected := o.causes[alert]
		if !expected || !covers(stream.Metric, why.labels) {
			continue
		}
		if earlier, known := first[alert]; !known || after < earlier {
			first[alert] = after
		}
	}
	return first, err
}

func covers(metric model.Metric, labels model.LabelSet) bool {
	for name, value := range labels {
		if metric[name] != value {
			return false
		}
	}
	return true
}

func (o *observed) untilAllFired(ctx context.Context) {
	GinkgoHelper()
	want := slices.Sorted(maps.Keys(o.causes))
	Eventually(ctx, func() ([]string, error) {
		first, err := o.fired(ctx)
		return slices.Sorted(maps.Keys(first)), err
	}).WithPolling(time.Second).Should(Equal(want))
}

// mustHaveFiredAll waits until every alert in causes has fired, and fails if an alert of the rules is not in causes. It adds a table
// of the alerts to the report.
func (o *observed) mustHaveFiredAll(ctx context.Context) {
	GinkgoHelper()
	o.untilAllFired(ctx)
	after := clustertest.Must(o.fired(ctx))
	rows := [][]string{{"alert", "cause", "fired after"}}
	for _, rule := range o.rules {
		if rule.Alert == "" {
			continue
		}
		Expect(after).To(HaveKey(rule.Alert))
		rows = append(rows, []string{rule.Alert, o.causes[rule.Alert].what, seconds(after[rule.Alert])})
	}
	clustertest.AddTable("Alerts, with rules in which a minute is a second", rows)
}

// mustHaveData fails unless every rule and every query of the dashboards has had results. It leaves out queries for which aboutOthers
// returns true. The rules include the alerts, which have results only when something is wrong.
func (o *observed) mustHaveData(ctx context.Context, dashboards ...monitoring.Dashboard) {
	GinkgoHelper()
	queries := map[string]string{}
	for _, rule := range o.rules {
		queries["rule "+rule.Record+rule.Alert] = rule.Expr
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
	Expect(len(queries)).To(BeNumerically(">", 70))
	var empty []string
	for name, query := range queries {
		if len(clustertest.Must(o.Between(ctx, query, o.began, time.Now()))) == 0 {
			empty = append(empty, name+": "+query)
		}
	}
	Expect(empty).To(BeEmpty(), "queries without data")
}

// mustSeeContainers fails unless the alert about container memory has data about both containers of a node. In this test, the alert
// fires for only one of them.
func (o *observed) mustSeeContainers(ctx context.Context) {
	GinkgoHelper()
	at := slices.IndexFunc(o.rules, func(rule monitoring.Rule) bool { return rule.Alert == "MemcachedContainerMemoryNearLimit" })
	share, _, compared := strings.Cut(o.rules[at].Expr, "> 0.97")
	Expect(compared).To(BeTrue(), o.rules[at].Expr)
	containers := map[model.LabelValue]bool{}
	for _, stream := range clustertest.Must(o.Between(ctx, share, o.began, time.Now())) {
		containers[stream.Metric["container"]] = true
	}
	Expect(containers).To(And(HaveKey(model.LabelValue("memcached")), HaveKey(model.LabelValue("memcached-agent"))))
}

// dashboard returns a dashboard with shorter durations. Like Grafana, it replaces the variables in the queries.
func dashboard(file, namespace, memcached string) monitoring.Dashboard {
	GinkgoHelper()
	variables := strings.NewReplacer("$__rate_interval", rateInterval, "$namespace", namespace, "$memcached", memcached)
	return clustertest.Must(monitoring.ParseDashboard(variables.Replace(monitoring.Faster(clustertest.Read(file), faster))))
}
