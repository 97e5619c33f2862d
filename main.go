// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// The manager, the program of the Memcached operator.
package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/distribution/reference"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // for the kubeconfigs of cloud providers, with make run
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/logging"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/metrics"
)

// Environment variables that configure the operator.
const (
	imageVariable     = "RELATED_IMAGE_MEMCACHED"
	namespaceVariable = "WATCH_NAMESPACE"
	priorityVariable  = "ALLOW_SYSTEM_PRIORITY_CLASSES"
	userVariable      = "OMIT_RUN_AS_USER"
)

// leaderElectionID is the name of the lease for leader election.
const leaderElectionID = "memcached-operator.cache.example.com"

// shutdownTimeout is how long running reconciles may take to end. It is shorter than the pod's grace period in
// config/manager/manager.yaml.
const shutdownTimeout = 5 * time.Second

// version is set by the build.
var version = "devel"

func main() {
	err := run(ctrl.SetupSignalHandler(), os.Args[1:])
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "memcached-operator:", err)
		os.Exit(1)
	}
}

// options are the settings from flags and environment variables.
type options struct {
	controller    controllers.Options
	omitRunAsUser string
	// namespace is the one to watch, empty for all.
	namespace string

	metricsAddress, metricsCertPath, metricsCertName, metricsKeyName string
	probeAddress, leaderElectionNamespace                            string
	leaderElection                                                   bool
	zap                                                              zap.Options
}

func (o *options) bind(flags *flag.FlagSet) {
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", "0",
		"Address of the metrics, such as :8443; 0 serves none. They are served over TLS to clients whom the cluster "+
			"authenticates and authorizes to get /metrics, which needs cluster-scoped permissions.")
	flags.StringVar(&o.metricsCertPath, "metrics-cert-path", "",
		"Directory of the certificate of the metrics; it is reloaded when it changes. Default: self-signed.")
	flags.StringVar(&o.metricsCertName, "metrics-cert-name", "tls.crt", "File of the certificate in --metrics-cert-path.")
	flags.StringVar(&o.metricsKeyName, "metrics-cert-key", "tls.key", "File of the key in --metrics-cert-path.")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "Address of /healthz and /readyz; 0 serves none.")
	flags.BoolVar(&o.leaderElection, "leader-elect", false, "Let one of several replicas work and the others stand by.")
	flags.StringVar(&o.leaderElectionNamespace, "leader-election-namespace", "",
		"Namespace of the lease. Default: that of the operator's pod.")
	flags.IntVar(&o.controller.MaxConcurrentReconciles, "max-concurrent-reconciles", controllers.DefaultConcurrentReconciles,
		"How many Memcacheds are reconciled at the same time.")
	flags.BoolVar(&o.controller.AskAgents, "ask-agents", true,
		"Ask the agents of nodes once a minute, at the pods' port 9150, what is wrong, for the condition NeedsAttention.")
	flags.StringVar(&o.omitRunAsUser, "omit-run-as-user", cmp.Or(os.Getenv(userVariable), "auto"),
		"Leave the user of the memcached pods to the cluster, as OpenShift requires: auto, true or false. auto asks the cluster "+
			"whether it is OpenShift. Another answer replaces the pods of Deployments.")
	flags.BoolVar(&o.controller.Memcached.AllowSystemPriorityClasses, "allow-system-priority-classes",
		os.Getenv(priorityVariable) == "true",
		"Allow PriorityClasses whose names start with system-: pods of others are evicted for theirs.")
	o.zap.BindFlags(flags)
	config.RegisterFlags(flags)
	flags.SetOutput(io.Discard) // main reports mistakes, in one sentence
	flags.Usage = func() {}
}

func usage(flags *flag.FlagSet) {
	flags.SetOutput(os.Stdout)
	fmt.Fprintf(flags.Output(), "Usage: manager [flags]\n\nEnvironment:\n"+
		"  %s\n    \tImage of a Memcached without spec.image. Required.\n"+
		"  %s\n    \tImage of the agents in the pods of StatefulSets and proxies.\n"+
		"  %s\n    \tNamespace to watch. Default: all.\n"+
		"  %s\n    \tDefault of --omit-run-as-user: auto, true or false.\n"+
		"  %s\n    \tDefault of --allow-system-priority-classes: true or false.\n"+
		"  KUBECONFIG\n    \tThe cluster, outside of one.\n\nFlags:\n",
		imageVariable, memcached.AgentImageVariable, namespaceVariable, userVariable, priorityVariable)
	flags.PrintDefaults()
}

func run(ctx context.Context, args []string) error {
	var opts options
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	opts.bind(flags)
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		usage(flags)
		return err
	} else if err != nil {
		return fmt.Errorf("%w; --help lists the flags", err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: write flags as --name=value; --help lists them", flags.Arg(0))
	}
	logging.Setup(os.Stderr, zap.UseFlagOptions(&opts.zap))
	opts.namespace = os.Getenv(namespaceVariable)
	opts.controller.Memcached.DefaultImage = os.Getenv(imageVariable)
	opts.controller.Memcached.AgentImage = os.Getenv(memcached.AgentImageVariable)
	if err := opts.validate(); err != nil {
		return err
	}
	cluster, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	// Like Kubernetes' own controllers, the client asks for no compression: it would take the API server longer to compress
	// than to send.
	cluster.DisableCompression = true
	// NewNodes gets a configuration that does not set the ServerClock: answers of pods, forwarded by the API server, carry the pods' times.
	if opts.controller.Nodes, err = controllers.NewNodes(cluster); err != nil {
		return err
	}
	opts.controller.ServerClock, cluster = controllers.NewServerClock(cluster, clock.RealClock{})
	settings := &opts.controller.Memcached
	if settings.OmitRunAsUser, err = controllers.OmitRunAsUser(ctx, cluster, opts.omitRunAsUser); err != nil {
		return err
	}
	if settings.LacksMatchLabelKeys, err = controllers.LacksMatchLabelKeys(cluster); err != nil {
		return err
	}
	return serve(ctx, cluster, opts)
}

// serve runs the manager until the context ends.
func serve(ctx context.Context, cluster *rest.Config, opts options) error {
	mgr, err := newManager(cluster, opts)
	if err != nil {
		return err
	}
	if err := controllers.SetupWithManager(ctx, mgr, metrics.New(ctrlmetrics.Registry), opts.controller); err != nil {
		return fmt.Errorf("set up the controller, which needs the CRD of this version: %w", err)
	}
	ctrl.Log.Info("Starting", "version", version, "defaultImage", opts.controller.Memcached.DefaultImage,
		"agentImage", opts.controller.Memcached.AgentImage, "watchNamespace", opts.namespace)
	return start(ctx, mgr)
}

// start runs the manager until the context ends. If the caches are not filled by then, mgr.Start may never return. So start
// stops waiting for it after a timeout.
func start(ctx context.Context, mgr ctrl.Manager) error {
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(shutdownTimeout + time.Second):
		return errors.New("ended without the manager, which waits for its caches")
	}
}

func (o *options) validate() error {
	images := map[string]string{imageVariable: o.controller.Memcached.DefaultImage}
	if images[imageVariable] == "" {
		return fmt.Errorf("the environment variable %s must hold the default memcached image, such as "+
			"docker.io/library/memcached:1.6.45", imageVariable)
	}
	if agent := o.controller.Memcached.AgentImage; agent != "" {
		images[memcached.AgentImageVariable] = agent
	}
	for variable, image := range images {
		if _, err := reference.ParseNormalizedNamed(image); err != nil {
			return fmt.Errorf("the environment variable %s holds %q, which is not the name of an image: %w", variable, image, err)
		}
	}
	if o.namespace != "" && len(validation.IsDNS1123Label(o.namespace)) > 0 {
		return fmt.Errorf("the environment variable %s holds %q, but must name one namespace, or none for all", namespaceVariable, o.namespace)
	}
	if o.controller.MaxConcurrentReconciles < 1 {
		return fmt.Errorf("--max-concurrent-reconciles is %d, but must be at least 1", o.controller.MaxConcurrentReconciles)
	}
	if _, err := strconv.ParseBool(o.omitRunAsUser); err != nil && o.omitRunAsUser != "auto" {
		return fmt.Errorf("--omit-run-as-user or %s is %q, but must be auto, true or false", userVariable, o.omitRunAsUser)
	}
	return nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(cachev1alpha1.AddToScheme(scheme))
	return scheme
}

func newManager(cluster *rest.Config, opts options) (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(cluster, ctrl.Options{
		Scheme: newScheme(),
		Cache:  controllers.CacheOptions(opts.namespace),
		Metrics: metricsserver.Options{
			BindAddress:    opts.metricsAddress,
			SecureServing:  true,
			FilterProvider: filters.WithAuthenticationAndAuthorization,
			CertDir:        opts.metricsCertPath,
			CertName:       opts.metricsCertName,
			KeyName:        opts.metricsKeyName,
			// HTTP/2 is off: with few packets, a client could tie up the server (CVE-2023-44487, CVE-2023-39325), and metrics gain
			// nothing from HTTP/2. TLS 1.2 is off: some of its suites are open to padding oracles, and Prometheus supports TLS 1.3.
			TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.NextProtos, c.MinVersion = []string{"http/1.1"}, tls.VersionTLS13 }},
		},
		HealthProbeBindAddress:        opts.probeAddress,
		LeaderElection:                opts.leaderElection,
		LeaderElectionID:              leaderElectionID,
		LeaderElectionNamespace:       opts.leaderElectionNamespace,
		LeaseDuration:                 ptr.To(15 * time.Second),
		RenewDeadline:                 ptr.To(10 * time.Second),
		RetryPeriod:                   ptr.To(time.Second),
		LeaderElectionReleaseOnCancel: true, // safe, because the process exits right after Start returns
		GracefulShutdownTimeout:       ptr.To(shutdownTimeout),
	})
	if err != nil {
		return nil, fmt.Errorf("create the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add the health check: %w", err)
	}
	// A standby fills its caches and becomes ready, like the leader.
	synced := func(request *http.Request) error {
		err := controllers.Synced(request.Context(), mgr.GetCache())
		if err != nil {
			ctrl.Log.Info("Not ready", "reason", err.Error()) // the answer to the probe withholds it
		}
		return err
	}
	if err := mgr.AddReadyzCheck("caches", synced); err != nil {
		return nil, fmt.Errorf("add the readiness check: %w", err)
	}
	return mgr, nil
}
