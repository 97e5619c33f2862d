// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/credentials"
)

// servesLibraries uses the cache with pymemcache and openssl, as docs/clients.md says. A client whose certificate is from another CA
// must be refused.
func (r *rotation) servesLibraries(ctx context.Context) {
	GinkgoHelper()
	By("serving pymemcache and openssl s_client")
	blocks, service := guideBlocks(), "MEMCACHED_SERVICE="+serviceOf(r.mc)
	GinkgoT().Setenv("MEMCACHED_SERVICE", serviceOf(r.mc))
	GinkgoT().Setenv("MEMCACHED_USER", r.member.user)
	GinkgoT().Setenv("MEMCACHED_PASSWORD", r.member.password)
	Expect(k8s.Reread(ctx, r.mc)).To(Succeed())
	Expect(r.mc.Status.Servers).To(HaveEach(HaveSuffix(fmt.Sprint(":", tlsPort))))
	for _, server := range r.mc.Status.Servers { // DNS follows a moment after the cache is Ready
		host, _, _ := strings.Cut(server, ":")
		Eventually(ctx, resolver().LookupHost).WithArguments(host + ".cluster.local").Should(HaveLen(1))
	}
	client := newGuideClient(ctx, "pymemcache", "MEMCACHED_servers="+strings.Join(r.mc.Status.Servers, ","), "test/e2e/clients/driver.py",
		blocks["names"], blocks["pymemcache"], r.mounted(r.member.identity, patiently(blocks["tls"])), blocks["login"])
	Expect(client.use(guideKeys)).To(Equal(all(guideKeys)))
	Expect(client.read(guideKeys)).To(Equal(all(guideKeys)))
	for _, pod := range r.pods {
		node := clustertest.Must(r.visit(ctx, r.address(&pod), r.member))
		Expect(clustertest.Must(node.Stats(ctx))["curr_items"]).NotTo(Equal("0"), "keys of pymemcache on %s", pod.Name)
		Expect(node.Close()).To(Succeed())
	}

	Expect(runBlock(ctx, r.mounted(r.member.identity, blocks["openssl"]), service)).To(HavePrefix("STORED\r\nVERSION " + r.mc.Status.Version))
	stranger := clustertest.Must(clustertest.Must(credentials.NewAuthority("another shop")).User("application"))
	refused := applicationProcess(ctx, service, "sh", "-eu", "-c", r.mounted(stranger, blocks["openssl"]))
	said, err := refused.Output()
	Expect(err).To(MatchError(ContainSubstring("exit status")))
	Expect(string(said)).NotTo(ContainSubstring("STORED"))
}

// mounted writes a certificate to a local folder. It returns a block of docs/clients.md in which this folder replaces
// the documented folder.
func (s *secured) mounted(identity credentials.Identity, block string) string {
	GinkgoHelper()
	const folder = "/etc/memcached-tls"
	Expect(block).To(ContainSubstring(folder))
	here := GinkgoT().TempDir()
	for name, content := range map[string][]byte{"ca.crt": s.authority.PEM(), "tls.crt": identity.Certificate, "tls.key": identity.Key} {
		writeFile(filepath.Join(here, name), string(content))
	}
	return strings.ReplaceAll(block, folder, here)
}

// patiently returns a block of docs/clients.md with longer timeouts, so that no request fails because the machine is busy.
func patiently(block string) string {
	GinkgoHelper()
	patient := strings.NewReplacer("timeout=0.25", "timeout=5", "timeout=0.5", "timeout=5").Replace(block)
	Expect(patient).NotTo(Equal(block))
	return patient
}
