// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/test/crd"
	"github.com/example/memcached-operator/test/testenv"
)

// A single stored Memcached that Go cannot decode would make every list and watch of the operator fail, and so stop its work for all
// Memcacheds. Go must therefore be able to decode everything that the schema permits.
var _ = DescribeTable("Any value at any place is refused with the name of the field, or can be decoded and has a desired state",
	func(ctx SpecContext, root, sample, neverSet string) {
		tries := triesOf(root, sample)
		mc := create(ctx, "decoded", cachev1alpha1.MemcachedSpec{Size: 1})
		concurrently(tries, func(t *try) {
			if root == "spec" {
				spec := t.place.With(t.value)
				if ofStatefulSets.MatchString(t.place.Path) {
					spec = strings.Replace(spec, "{", `{"workload": "StatefulSet", `, 1)
				}
				t.decode(dryRun(ctx, "cache", spec))
				return
			}
			object := manifest(mc.Name, mc.ResourceVersion, `{"size": 1}, "status": `+t.place.With(t.value))
			t.decode(send(ctx, raw.Put().Name(mc.Name).SubResource("status"), object))
		})
		for _, check := range []func(*try) error{(*try).undecodable, (*try).undesirable, (*try).unnamed, (*try).strange} {
			Expect(problems(tries, check)).To(BeEmpty())
		}
		// Otherwise the tries do not fit, or nobody can use the field.
		unusable := slices.DeleteFunc(neverAccepted(tries), regexp.MustCompile(notOffered.String()+"|"+neverSet).MatchString)
		Expect(unusable).To(BeEmpty())
	},
	func(root, _, _ string) string { return "in " + root },
	Entry(nil, "spec", everyField(), "^$"),
	Entry(nil, "status", "", "^$"),
)

// ofStatefulSets matches fields that a Deployment must not have.
var ofStatefulSets = regexp.MustCompile(`^spec\.(tls|auth|agent|proxy|networkPolicy\.metricsFrom)\b`)

// notOffered matches what is below the fields of an affinity's terms that must not be set.
var notOffered = regexp.MustCompile(`\.affinity\..*\.(namespaces\b|namespaceSelector\b)`)

// JSON values that schemas and decoders often treat differently.
var (
	edges = []string{
		`null`, `{}`, `[]`, `[null]`, `{"k": null}`, `true`,
		`0`, `1`, `-1`, `1.0`, `1.5`, `2147483647`, `2147483648`, `-2147483649`, `9223372036854775807`, `9223372036854775808`,
		`1e3`, `1e30`, `-1e-30`,
		`"a"`, `"0"`, `"1"`, `"true"`, `"null"`, `"1d"`, `"1h"`, `"5%"`, `"1e3"`, `"1e1.5"`, `"1.5Gi"`, `"1e30"`, `"0x10"`, `"+1"`, `"10.1.0.0/16"`,
		`".5"`, `"9223372036854775808"`, `"999999999999999999999999999999Ei"`, `"` + strings.Repeat("a", 600) + `"`,
	}
	strangeTexts = []string{`""`, `" "`, `"🚀"`, `"ذاكرة"`, `"é"`, `"\u0000"`, `"\u202e"`, `"\ud800"`}
	dateTimes    = []string{
		`"2026-01-01"`, `"2026-01-01T00:00:00"`, `"2026-01-01T00:00:00z"`, `"2026-01-01t00:00:00Z"`, `"2026-01-01 00:00:00Z"`,
		`"2026-01-01T00:00:00.123456789+01:00"`, `"2026-01-01T00:00:00,1Z"`, `"2026-01-01T24:00:00Z"`, `"2026-01-01T00:00:60Z"`,
		`"2026-01-01T00:00Z"`, `"2026-01-01T00:00:00+0100"`, `"2026-01-01T00:00:00+01"`, `"2026-01-01T00:00:00+24:00"`,
		`"2026-1-1T0:0:0Z"`, `"12026-01-01T00:00:00Z"`, `"0000-00-00T00:00:00Z"`, `"0001-01-01T00:00:00Z"`,
	}
)

// try is a value for one place in a spec or status, and the API server's answer to it.
type try struct {
	place crd.Place
	value string
	// refusal is the API server's error, or nil.
	refusal error
	// mc is the accepted object. decodeErr is why Go cannot decode it, or nil.
	mc        cachev1alpha1.Memcached
	decodeErr error
}

// triesOf returns a try for root and each place below it, with each of these values: edges, strangeTexts, dateTimes in a field for
// a time, a small value that the schema of the place allows, the schema's enumeration and default, and the place's value in the
// sample.
func triesOf(root, sample string) []*try {
	var tries []*try
	for _, place := range crd.Places(root, schema().Properties[root]) {
		values := slices.Concat(edges, strangeTexts, []string{crd.Smallest(place.Schema)})
		if place.Schema.Format == "date-time" {
			values = append(values, dateTimes...)
		}
		for _, value := range place.Schema.Enum {
			values = append(values, string(value.Raw))
		}
		if place.Schema.Default != nil {
			values = append(values, string(place.Schema.Default.Raw))
		}
		if value := valueAt(sample, place.Path); value != "" {
			values = append(values, value)
		}
		slices.Sort(values)
		for _, value := range slices.Compact(values) {
			tries = append(tries, &try{place: place, value: value})
		}
	}
	return tries
}

var strictDecoder = serializer.NewCodecFactory(testenv.Scheme(), serializer.EnableStrict).UniversalDeserializer()

func (t *try) decode(stored []byte, refusal error) {
	if t.refusal = refusal; refusal == nil {
		_, _, t.decodeErr = strictDecoder.Decode(stored, nil, &t.mc)
	}
}

func (t *try) undecodable() error { return t.decodeErr }

// undesirable returns an error if desired.For panics, or reports a problem without a reason or a message.
func (t *try) undesirable() (problem error) {
	if t.refusal != nil || t.decodeErr != nil {
		return nil
	}
	defer func() {
		if cause := recover(); cause != nil {
			problem = fmt.Errorf("panic: %v", cause)
		}
	}()
	view := memcached.NewView(&t.mc, memcached.Observed{}, time.Now())
	plan := desired.For(view, memcached.Options{DefaultImage: "memcached:1.6.45", AgentImage: "memcached-operator:1"})
	if invalid := plan.Problem; invalid != nil && (invalid.Reason == "" || invalid.Message == "") {
		return fmt.Errorf("a problem that tells the user nothing: %+v", *invalid)
	}
	return nil
}

// unnamed returns a refusal that names neither the field nor its parent, or that is another error than Invalid or BadRequest.
func (t *try) unnamed() error {
	if t.refusal == nil {
		return nil
	}
	path := minor.Field(t.place.Path)
	if notOffered.MatchString(path) {
		path = "spec.scheduling.affinity" // the rule of this field refuses what is below
	}
	parent := path[:max(strings.LastIndexAny(path, ".["), 0)]
	refused := apierrors.IsInvalid(t.refusal) || apierrors.IsBadRequest(t.refusal)
	named := strings.Contains(t.refusal.Error(), path) || parent != "" && strings.Contains(t.refusal.Error(), parent)
	if refused && named {
		return nil
	}
	return t.refusal
}

// strange returns an error if unicode or nothing is accepted in a field that has a meaning here, or refused in one that only the cluster
// can check. The condition Degraded reports what the cluster refuses.
func (t *try) strange() error {
	path, schema := t.place.Path, t.place.Schema
	other := len(schema.Enum) > 0 || schema.Type != "string" && !schema.XIntOrString || notOffered.MatchString(path) ||
		path == "spec.imagePullSecrets[0].name" && t.value == `""`
	if other || !strings.HasPrefix(path, "spec") || !slices.Contains(strangeTexts, t.value) {
		return nil
	}
	free := kubernetesContent.MatchString(path) || strings.HasSuffix(path, ".annotations.k")
	label := strings.HasSuffix(path, ".labels.k") && !free
	if accept := label && t.value == `""` || free; accept != (t.refusal == nil) {
		return fmt.Errorf("accept: want %t, got the error %w", accept, t.refusal)
	}
	return nil
}

// problems returns a message for each try for which say returns an error.
func problems(tries []*try, say func(*try) error) []string {
	var found []string
	for _, t := range tries {
		if problem := say(t); problem != nil {
			found = append(found, fmt.Sprintf("%s = %.40s: %v", t.place.Path, t.value, problem))
		}
	}
	return found
}

// neverAccepted returns the paths at which no value was accepted.
func neverAccepted(tries []*try) []string {
	refused := map[string]bool{}
	for _, t := range tries {
		if was, known := refused[t.place.Path]; t.refusal == nil || !known || was {
			refused[t.place.Path] = t.refusal != nil
		}
	}
	maps.DeleteFunc(refused, func(_ string, refused bool) bool { return !refused })
	return slices.Sorted(maps.Keys(refused))
}

func concurrently(tries []*try, do func(*try)) {
	var group errgroup.Group
	group.SetLimit(8)
	for _, t := range tries {
		group.Go(func() error { do(t); return nil })
	}
	_ = group.Wait() // no call fails
}
