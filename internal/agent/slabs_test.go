// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

// slabClasses is the largest number of slab classes that a memcached has.
const slabClasses = 63

// fullNode returns the behavior of a memcached that uses all slab classes. Each class has the statistics of the first class in the
// recording.
func fullNode(t testing.TB) func(net.Conn) {
	t.Helper()
	replies := recordedReplies(t, "default")
	original := firstClass(replies["stats items"])
	for request, prefix := range map[string]string{"stats items": "STAT items:", "stats slabs": "STAT "} {
		first := linesWith(replies[request], prefix+original+":")
		var reply strings.Builder
		for class := range slabClasses {
			reply.WriteString(strings.ReplaceAll(first, prefix+original+":", prefix+strconv.Itoa(class+1)+":"))
		}
		replies[request] = reply.String() + linesWith(replies[request], "STAT total_malloced") + "END\r\n"
	}
	return answeringFrom(replies)
}

// firstClass returns the number of the slab class in the first line, such as "STAT items:3:number 12" or "STAT 3:chunk_size 152".
func firstClass(lines string) string {
	class, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(lines, "STAT "), "items:"), ":")
	return class
}

func TestAllSlabClassesAreScraped(t *testing.T) {
	_, body := startAgent(t, newFake(t, fullNode(t)).options()).get(t, "/metrics")
	for _, family := range []string{"memcached_slab_current_items", "memcached_slab_chunk_size_bytes"} {
		if got := strings.Count(body, "\n"+family+"{"); got != slabClasses {
			t.Errorf("%s: %d series, want %d", family, got, slabClasses)
		}
	}
	if !strings.Contains(body, "\nmemcached_up 1\n") || !strings.Contains(body, "\nmemcached_malloced_bytes ") {
		t.Errorf("it is not readable:\n%s", body)
	}
}
