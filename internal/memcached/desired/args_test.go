// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

const certificate = "ssl_chain_cert=/run/memcached/current/tls.crt,ssl_key=/run/memcached/current/tls.key,ssl_min_version="

func TestArgs(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*cachev1alpha1.MemcachedSpec)
		want   string
	}{
		{
			"an object that did not pass through the schema", func(*cachev1alpha1.MemcachedSpec) {},
			"-p 11211 -U 0 -m 64 -c 1055 -t 4 -I 1m -W -X -o read_buf_mem_limit=44",
		},
		{"memory", memory("2Gi"), "-p 11211 -U 0 -m 2048 -c 1055 -t 4 -I 1m -W -X -o read_buf_mem_limit=44"},
		{"memory in bytes", memory("134217728"), "-p 11211 -U 0 -m 128 -c 1055 -t 4 -I 1m -W -X -o read_buf_mem_limit=44"},
		{
			"connections", func(s *cachev1alpha1.MemcachedSpec) { s.Config.MaxConnections = 2000 },
			"-p 11211 -U 0 -m 64 -c 2031 -t 4 -I 1m -W -X -o read_buf_mem_limit=60",
		},
		{
			"threads, and the descriptors that they need", func(s *cachev1alpha1.MemcachedSpec) { s.Config.Threads = 8 },
			"-p 11211 -U 0 -m 64 -c 1075 -t 8 -I 1m -W -X -o read_buf_mem_limit=72",
		},
		{
			"an idle timeout", func(s *cachev1alpha1.MemcachedSpec) {
				s.Config.IdleTimeout = &metav1.Duration{Duration: 90 * time.Minute}
			},
			"-p 11211 -U 0 -m 64 -c 1055 -t 4 -I 1m -W -X -o read_buf_mem_limit=44,idle_timeout=5400",
		},
		{
			"no flush_all", func(s *cachev1alpha1.MemcachedSpec) { s.Config.FlushAll = ptr.To(false) },
			"-p 11211 -U 0 -m 64 -c 1055 -t 4 -I 1m -W -X -F -o read_buf_mem_limit=44",
		},
		{
			"flush_all and dump", func(s *cachev1alpha1.MemcachedSpec) { s.Config.FlushAll, s.Config.Dump = ptr.To(true), ptr.To(true) },
			"-p 11211 -U 0 -m 64 -c 1055 -t 4 -I 1m -W -o read_buf_mem_limit=44",
		},
		{
			"TLS", func(s *cachev1alpha1.MemcachedSpec) {
				s.Workload, s.TLS = statefulSetKind, &cachev1alpha1.MemcachedTLS{SecretName: "a"}
			},
			"-p 11211 -U 0 -m 64 -c 1071 -t 4 -I 1m -W -X -Z -l notls:127.0.0.1:11211,*:11212 -o read_buf_mem_limit=44,idle_timeout=600," + certificate + "2",
		},
		{
			"TLS and plaintext", func(s *cachev1alpha1.MemcachedSpec) {
				s.Workload, s.TLS = statefulSetKind, &cachev1alpha1.MemcachedTLS{SecretName: "a", Plaintext: cachev1alpha1.PlaintextEnabled}
			},
			"-p 11211 -U 0 -m 64 -c 1072 -t 4 -I 1m -W -X -Z -l notls:*:11211,*:11212 -o read_buf_mem_limit=44,idle_timeout=600," + certificate + "2",
		},
		{
			"mutual TLS 1.3", func(s *cachev1alpha1.MemcachedSpec) {
				s.Workload, s.TLS = statefulSetKind, &cachev1alpha1.MemcachedTLS{
					SecretName: "a", ClientAuth: cachev1alpha1.ClientAuthRequire, MinVersion: cachev1alpha1.TLSVersion13,
				}
			},
			"-p 11211 -U 0 -m 64 -c 1071 -t 4 -I 1m -W -X -Z -l notls:127.0.0.1:11211,*:11212 -o read_buf_mem_limit=44,idle_timeout=600," + certificate +
				"3,ssl_ca_cert=/run/memcached/current/ca.crt,ssl_verify_mode=2",
		},
		{
			"users and an idle timeout", func(s *cachev1alpha1.MemcachedSpec) {
				s.Config.IdleTimeout = &metav1.Duration{Duration: time.Minute}
				s.Workload, s.Auth = statefulSetKind, &cachev1alpha1.MemcachedAuth{SecretName: "a"}
			},
			"-p 11211 -U 0 -m 64 -c 1070 -t 4 -I 1m -W -X -Y /run/memcached/current/users -o read_buf_mem_limit=44,idle_timeout=60",
		},
	} {
		mc := memcachedtest.Cache(3)
		c.change(&mc.Spec)
		if got := strings.Join(args(mc), " "); got != c.want {
			t.Errorf("%s: %s, not %s", c.name, got, c.want)
		}
	}
}

func memory(quantity string) func(*cachev1alpha1.MemcachedSpec) {
	return func(s *cachev1alpha1.MemcachedSpec) { s.Config.Memory = ptr.To(resource.MustParse(quantity)) }
}

func TestThreads(t *testing.T) {
	for _, c := range []struct {
		threads        int32
		limit, request string
		want           int32
	}{
		{0, "", "", 4},
		{0, "", "2", 4},
		{7, "", "", 7},
		{7, "2", "", 7},
		{64, "", "", 64},
		{0, "2", "", 2},
		{0, "100m", "", 1},
		{0, "1", "", 1},
		{0, "1001m", "", 2},
		{0, "1500m", "", 2},
		{0, "0", "", 1},
		{0, "64", "", 64},
		{0, "64001m", "", 64},
		{0, "1000", "", 64},
		{0, "100P", "", 64},
	} {
		mc := memcachedtest.Cache(3)
		mc.Spec.Config.Threads = c.threads
		if c.limit != "" {
			mc.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(c.limit)}
		}
		if c.request != "" {
			mc.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(c.request)}
		}
		if got := sizingOf(mc).threads; got != c.want {
			t.Errorf("threads %d, CPU limit %q, request %q: %d, not %d", c.threads, c.limit, c.request, got, c.want)
		}
	}
}

// TestItemSize covers multiples of 512 KiB, the only sizes that the schema allows. memcached's -I allows only the suffixes k and m.
func TestItemSize(t *testing.T) {
	for size, want := range map[string]string{
		"512Ki": "512k", "1Mi": "1m", "1536Ki": "1536k", "2Mi": "2m", "1048576": "1m", "524288": "512k",
		"0.5Mi": "512k", "1Gi": "1024m", "1023.5Mi": "1048064k",
	} {
		mc := memcachedtest.Cache(3)
		mc.Spec.Config.MaxItemSize = ptr.To(resource.MustParse(size))
		if got := itemSize(mc); got != want {
			t.Errorf("%s: -I %s, not %s", size, got, want)
		}
	}
}

// optionsOf maps each flag in the arguments to its value. It maps a flag without a value to the flag itself.
func optionsOf(args []string) map[string]string {
	options := map[string]string{}
	for i, arg := range args {
		switch {
		case !strings.HasPrefix(arg, "-"):
			continue
		case i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			options[arg] = args[i+1]
		default:
			options[arg] = arg
		}
	}
	return options
}
