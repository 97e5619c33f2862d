// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// Applications that know only the address of a proxy use the settings of docs/clients. One process stores a value,
// and another process finds it.
var _ = Describe("The settings of docs/clients", Label(onLocalCluster), func() {
	It("store and find with the one address", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		g := newGuide(ctx, "proxy")
		address := g.mc.Name + "." + g.mc.Namespace + ".svc.cluster.local:11211"
		for name, application := range map[string]string{
			"page": "page.py", "one address": "one_address.py", "django": "django.py", "keystone": "keystone.py", "php sessions": "sessions.php",
		} {
			By(name)
			settings := strings.ReplaceAll(g.blocks[name], "sessions:11211", address)
			Expect(settings).NotTo(Equal(g.blocks[name]), "the settings of %s name the address", name)
			Eventually(ctx, func() string { // some clients do not say that a value was not stored
				return runApplication(ctx, settings, application, "store") + runApplication(ctx, settings, application, "find")
			}).Should(HaveSuffix("done\ndone\n"), name)
		}
	})
})

// runApplication runs an application of test/e2e/clients with these settings, and returns its output. step is "store" or "find".
func runApplication(ctx context.Context, settings, application, step string) string {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "settings")
	writeFile(file, settings)
	command := []string{"/usr/bin/python3", "-I"} // Debian's Python has the modules. With -I, it ignores files beside the application
	if filepath.Ext(application) == ".php" {
		command = []string{"php"}
	}
	command = append(command, filepath.Join("clients", application), file, step)
	process := exec.CommandContext(ctx, command[0], command[1:]...)
	output, _ := process.CombinedOutput() // the output says what has failed
	return string(output)
}
