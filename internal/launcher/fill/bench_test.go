// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package fill

import (
	"strconv"
	"testing"
)

// BenchmarkFill fills an empty node from a full one. Run it with go test -bench Fill -benchtime 3x ./internal/launcher/fill.
func BenchmarkFill(b *testing.B) {
	for _, size := range []struct {
		name                string
		memory, items, size int
	}{{"64MiB", 64, 170000, 300}, {"1GiB", 1024, 900000, 1000}} {
		b.Run(size.name, func(b *testing.B) {
			memory := strconv.Itoa(size.memory)
			from := start(b, "-m", memory)
			from.store(size.items, size.size)
			stored, err := strconv.ParseInt(from.items(), 10, 64)
			must(b, err)
			for b.Loop() {
				b.StopTimer()
				to := start(b, "-m", memory)
				b.StartTimer()
				result, err := Copy{Source: from.address, Destination: to.address}.Run(b.Context())
				must(b, err)
				if result.Items != stored {
					b.Fatalf("%+v of %d", result, stored)
				}
				b.SetBytes(result.Bytes)
				b.StopTimer()
				must(b, to.command.Process.Kill())
				_ = to.command.Wait()
				b.StartTimer()
			}
		})
	}
}
