// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package fill

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestItemsThatAClientStoresAgain checks which items a copy leaves out: stale items, and empty items that wait for their first value.
// The copy must contain items that only look similar. It must also give back the token (W) of each stale item, so that the source gives
// the token to the next client.
func TestItemsThatAClientStoresAgain(t *testing.T) {
	t.Parallel()
	from, to := start(t), start(t)
	items := []struct {
		key, stored string
		marked      []string
		source, got string
	}{
		{"stale", "ms stale 1\r\nx", []string{"md stale I"}, "HD X W", "EN"},
		{"AAEC/w== b", "ms AAEC/w== 1 b\r\nx", []string{"md AAEC/w== b I"}, "HD X W", "EN"},
		{"large", "ms large 1000000\r\n" + strings.Repeat("l", 1000000), []string{"md large I"}, "HD X W", "EN"},
		{"claimed", "ms claimed 1\r\nx", []string{"md claimed I", "mg claimed"}, "HD Z X", "EN"},
		{"placeholder", "", []string{"mg placeholder N300"}, "HD Z", "EN"},
		{"early", "ms early 1 T300\r\nx", []string{"mg early R600"}, "HD Z", "HD"}, // a valid value that expires soon
		{"empty", "ms empty 0\r\n", nil, "HD", "HD"},
	}
	version := func(key string) string {
		_, version, _ := strings.Cut(from.ask("me "+key), " cas=")
		return version
	}
	before := map[string]string{}
	for _, item := range items {
		if item.stored != "" {
			from.ask(item.stored)
		}
		for _, command := range item.marked {
			from.ask(command)
		}
		before[item.key] = version(item.key)
	}
	result, err := Copy{Source: from.Address, Destination: to.Address}.Run(t.Context())
	must(t, err)
	if result.Items != 2 {
		t.Errorf("%+v", result)
	}
	for _, item := range items {
		if after := version(item.key); after != before[item.key] {
			t.Errorf("%s was %s and is %s", item.key, before[item.key], after)
		}
		if reply := from.ask("mg " + item.key); reply != item.source {
			t.Errorf("source: %s: %s, want %s", item.key, reply, item.source)
		}
		if reply := to.ask("mg " + item.key); reply != item.got {
			t.Errorf("destination: %s: %s, want %s", item.key, reply, item.got)
		}
	}
}

// TestItemsChangeBeforeTokensAreGivenBack gives back the tokens of an item that is gone, and of an item whose CAS value has changed.
func TestItemsChangeBeforeTokensAreGivenBack(t *testing.T) {
	t.Parallel()
	from := start(t)
	from.store(1, 10)
	s, err := openSource(t.Context(), from.Address, time.Minute)
	for errors.Is(err, errBusy) { // memcached's own crawl, soon after the start
		s, err = openSource(t.Context(), from.Address, time.Minute)
	}
	must(t, err)
	defer s.close()
	s.releases.WriteString(item{key: "gone", cas: "1"}.release() + item{key: "key-0", cas: "1000"}.release())
	must(t, s.release())
	if reply, err := s.values.ask("mg key-0"); err != nil || reply != "HD" {
		t.Error(reply, err)
	}
}

// TestItemsChangeWhileTheyAreCopied changes items after the copy has read them, and before the destination has them.
func TestItemsChangeWhileTheyAreCopied(t *testing.T) {
	t.Parallel()
	from, to := start(t), start(t)
	both := func(command string) func() { return func() { from.ask(command); to.ask(command) } }
	items := map[string]struct {
		change func()
		got    string // the value at last
	}{
		"unchanged":   {func() {}, "1"},
		"stored":      {both("ms stored 1\r\n2"), "2"},
		"incremented": {both("ma incremented"), ""},
		"appended":    {both("ms appended 1 MA\r\n2"), ""},
		"replaced":    {both("ms replaced 1 MR\r\n2"), ""},
		"deleted":     {both("md deleted"), ""},
		"stale":       {both("md stale I"), ""},
		"decided":     {func() { from.ask("ms decided 1\r\n2"); to.ask("md decided") }, ""}, // cas through a proxy: only the source executes it
		"AAEC/w== b":  {both("md AAEC/w== b"), ""},
		"emptied":     {both("md emptied x"), ""},      // this command and the next three keep the CAS value
		"touched":     {both("touch touched 100"), ""}, // the lifetime was unlimited
		"shortened":   {both("touch shortened 50"), ""},
		"lengthened":  {both("touch lengthened 1000"), ""},
	}
	lifetimes := map[string]string{"shortened": " T100", "lengthened": " T100"}
	for key := range items {
		name, flags, _ := strings.Cut(key, " ")
		from.ask("ms " + name + " 1 " + flags + lifetimes[key] + "\r\n1")
	}
	s, err := openSource(t.Context(), from.Address, time.Minute)
	for errors.Is(err, errBusy) { // memcached's own crawl, soon after the start
		s, err = openSource(t.Context(), from.Address, time.Minute)
	}
	must(t, err)
	defer s.close()
	destinationPeer, err := dial(t.Context(), to.Address, time.Minute)
	must(t, err)
	defer destinationPeer.close()
	b := batch{from: s, to: &destination{peer: destinationPeer}}
	asked, _, err := s.ask(maxBatch)
	must(t, err)
	if asked != len(items) {
		t.Fatalf("%d items", asked)
	}
	must(t, b.transfer())
	for _, item := range items {
		item.change()
	}
	must(t, b.finish())
	if b.copied.Items != 1 {
		t.Errorf("%+v", b.copied)
	}
	for key, item := range items {
		if reply := to.ask("mg " + key); item.got == "" && reply != "EN" || item.got != "" && to.value(key) != item.got {
			t.Errorf("%s: %s", key, reply)
		}
	}
	if reply := from.ask("mg stale"); reply != "HD X W" {
		t.Errorf("the token of the stale item: %s", reply)
	}
}

// TestRemoveLeavesWhatClientsHaveStored deletes an item by a CAS value that is not the item's.
func TestRemoveLeavesWhatClientsHaveStored(t *testing.T) {
	t.Parallel()
	to := start(t)
	to.ask("ms key 1\r\n2")
	peer, err := dial(t.Context(), to.Address, time.Minute)
	must(t, err)
	defer peer.close()
	d := destination{peer: peer}
	must(t, d.remove([]item{{key: "key", cas: "1000"}, {key: "gone", cas: "1"}}))
	if to.value("key") != "2" {
		t.Error("the item is gone")
	}
}
