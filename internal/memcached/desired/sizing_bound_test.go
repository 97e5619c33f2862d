// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestAdmissionNeverRefusesAMemoryLimitThatIsEnough checks the bound below which the API server refuses memory limits. The bound
// must not be above the minimum that memcached needs, because the API server would then refuse limits that work. The bound may be a
// little lower, because a CEL rule that computes the exact minimum, with the hash table, would cost too much. The operator refuses
// the few limits between the bound and the minimum.
func TestAdmissionNeverRefusesAMemoryLimitThatIsEnough(t *testing.T) {
	b := admissionBound(t)
	bound := func(s sizing) float64 {
		fixed, perConnection := b.fixed, b.perConnection
		if s.tls {
			fixed, perConnection = b.fixedTLS, b.perConnectionTLS
		}
		return float64(s.memory/mebibyte)*b.perMemory + fixed + float64(s.connections)*perConnection + float64(s.threads)*b.perThread
	}
	check := func(s sizing) {
		floor := float64(s.minimum()) / float64(mebibyte)
		if bound(s) > floor {
			t.Errorf("%+v: the API server asks for %fMi, but %fMi are enough", s, bound(s), floor)
		}
		if bound(s) < 0.8*floor {
			t.Errorf("%+v: the API server asks for %fMi only, but %fMi are needed", s, bound(s), floor)
		}
	}

	// The bound is closest to the minimum where the hash table is fullest: at the largest memory before the table doubles.
	const smallest, largest = int64(64), int64(1) << 20
	previous := sizing{memory: smallest * mebibyte}.hashTable()
	for memory := smallest; memory <= largest; memory++ {
		s := sizing{memory: memory * mebibyte, connections: 1, threads: 1}
		if table := s.hashTable(); table != previous || memory == largest {
			previous = table
			check(s)
			s.memory -= mebibyte
			check(s)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		check(sizing{
			memory:      (smallest + random.Int64N(largest-smallest+1)) * mebibyte,
			connections: 1 + random.Int32N(65536),
			threads:     1 + random.Int32N(64),
			tls:         random.IntN(2) == 0,
		})
	}
}

// admissible holds the numbers in the formula for the lower bound, in MiB.
type admissible struct {
	perMemory, fixed, perConnection, perThread float64
	// fixedTLS and perConnectionTLS replace fixed and perConnection if TLS is enabled.
	fixedTLS, perConnectionTLS float64
}

// admissionBound reads the numbers of the bound from the rules: memory * a + b + connections * c / d + threads * e, with other
// values of b and c for TLS. Without spec.config.threads, the rules assume one thread if there is a CPU limit, and otherwise the
// default.
func admissionBound(t *testing.T) admissible {
	t.Helper()
	rules, err := os.ReadFile("../../../api/v1alpha1/rules.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	formula := regexp.MustCompile(`self\.config\.memory"}} \* ([0-9.]+) \+ \({{template "nodeTLS"}} \? ([0-9.]+) : ([0-9.]+)\) \+ ` +
		`double\(self\.config\.maxConnections\) \* \({{template "nodeTLS"}} \? ([0-9.]+) : ([0-9.]+)\) / ([0-9.]+) \+ ` +
		`\(has\(self\.config\.threads\) \? double\(self\.config\.threads\) : ` +
		`has\(self\.resources\.limits\) && 'cpu' in self\.resources\.limits \? 1\.0 : ([0-9.]+)\) \* ([0-9.]+)`)
	found := formula.FindStringSubmatch(strings.Join(strings.Fields(string(rules)), " "))
	if found == nil {
		t.Fatal("the rules have no bound")
	}
	numbers := make([]float64, 0, 8)
	for _, text := range found[1:] {
		number, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, number)
	}
	if numbers[6] != defaultThreads {
		t.Errorf("the bound has %g threads as the default, not %d", numbers[6], defaultThreads)
	}
	return admissible{
		perMemory: numbers[0], fixed: numbers[2], perConnection: numbers[4] / numbers[5], perThread: numbers[7],
		fixedTLS: numbers[1], perConnectionTLS: numbers[3] / numbers[5],
	}
}
