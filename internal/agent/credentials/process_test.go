// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"testing"
	"testing/fstest"
)

func stat(name, state, started string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("1 (" + name + ") " + state + " 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 5 0 " + started + " 1 1")}
}

func TestTheOldestMemcachedIsFound(t *testing.T) {
	for name, test := range map[string]struct {
		files fstest.MapFS
		want  Process
	}{
		"none":             {fstest.MapFS{"1/stat": stat("pause", "S", "1"), "self": {}, "9/comm": {}}, Process{}},
		"one":              {fstest.MapFS{"1/stat": stat("pause", "S", "1"), "17/stat": stat("memcached", "S", "500")}, Process{17, 500}},
		"with a help text": {fstest.MapFS{"17/stat": stat("memcached", "S", "500"), "9/stat": stat("memcached", "R", "700")}, Process{17, 500}},
		"a zombie":         {fstest.MapFS{"17/stat": stat("memcached", "Z", "500")}, Process{}},
		"others":           {fstest.MapFS{"17/stat": stat("memcached-tool", "S", "5"), "18/stat": stat("a) (memcached", "S", "5"), "19/stat": {}}, Process{}},
	} {
		got, err := procfs{files: test.files, name: "memcached"}.find()
		if err != nil || got != test.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
