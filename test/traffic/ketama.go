// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"slices"
	"sort"
	"strconv"
)

// Owner returns the index of the server for a key, in the list of servers from which the Owner was made. The list must not be empty.
// memcached servers do not know each other, so clients find each other's keys only if all of them choose servers by the same rule.
type Owner func(key string) int

// Each server has 160 points on a ketama ring: four for each of 40 digests.
const digestsPerServer, pointsPerDigest = 40, 4

// point is the end of a range of hashes. Keys with these hashes belong to the server.
type point struct {
	hash   uint32
	server int
}

// Ketama is the ring of libmemcached (MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED with equal weights), which most clients support:
//
//   - The points of a server are the MD5 digests of "NAME-0" to "NAME-39", each cut into four little-endian uint32.
//   - The hash of a key is the first little-endian uint32 of its MD5 digest.
//   - A key belongs to the server with the first point at or above its hash. If there is none, the lowest point decides.
//
// The name of a server is its host, followed by :port unless the port is 11211. The order of the servers does not matter: if two
// servers have the same point, the lower name wins. Ketama always uses 40 digests. libmemcached uses only 39 with some numbers of
// servers, such as 25 or 100, because of a rounding error.
func Ketama(servers []string) Owner {
	points := make([]point, 0, len(servers)*digestsPerServer*pointsPerDigest)
	for server, name := range servers {
		points = appendPoints(points, name, server)
	}
	slices.SortFunc(points, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(servers[a.server], servers[b.server]))
	})
	return func(key string) int {
		digest := md5.Sum([]byte(key))
		hash := binary.LittleEndian.Uint32(digest[:])
		i := sort.Search(len(points), func(i int) bool { return points[i].hash >= hash })
		return points[i%len(points)].server
	}
}

func appendPoints(points []point, name string, server int) []point {
	for i := range digestsPerServer {
		digest := md5.Sum([]byte(name + "-" + strconv.Itoa(i)))
		for part := range pointsPerDigest {
			points = append(points, point{hash: binary.LittleEndian.Uint32(digest[part*4:]), server: server})
		}
	}
	return points
}
