// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// block is a sequence of lines of a template.
type block struct {
	lines []string
	// differing holds the indexes of the variants that differ from the complete installation here. If only is false, these variants lack
	// the lines. If only is true, these variants alone have the lines.
	differing []int
	// only reports that the complete installation lacks the lines.
	only bool
}

// merge makes one template from all forms of a manifest: the argument whole has its lines in the complete installation, and manifests has
// its lines in each variant. A form may be empty. If Helm renders the template for a variant, the result is the manifest in this variant.
func merge(whole []string, manifests [][]string) string {
	differing := make([][]int, len(whole))
	added := make([][]block, len(whole)+1)
	for v, manifest := range manifests {
		ops := difflib.NewMatcherWithJunk(whole, manifest, false, nil).GetOpCodes()
		for i, op := range ops {
			if op.Tag == 'e' {
				continue
			}
			if op.Tag == 'd' && i+1 < len(ops) {
				op = slide(op, whole, ops[i+1].I2)
			}
			for i := op.I1; i < op.I2; i++ {
				differing[i] = append(differing[i], v)
			}
			if op.J1 < op.J2 {
				added[op.I1] = add(added[op.I1], manifest[op.J1:op.J2], v)
			}
		}
	}
	return spell(arrange(whole, differing, added))
}

// slide moves a deletion of lines down as far as it can without changing the result, so that the same line counts as deleted in all
// variants. For example, if two list items end with the same line, either of these lines could count as deleted.
func slide(op difflib.OpCode, whole []string, end int) difflib.OpCode {
	for op.I2 < end && whole[op.I1] == whole[op.I2] {
		op.I1++
		op.I2++
	}
	return op
}

// add adds lines that variant v has and the complete installation lacks. Variants with the same lines share a block.
func add(blocks []block, lines []string, v int) []block {
	for i := range blocks {
		if slices.Equal(blocks[i].lines, lines) {
			blocks[i].differing = append(blocks[i].differing, v)
			return blocks
		}
	}
	return append(blocks, block{lines: lines, differing: []int{v}, only: true})
}

// arrange makes blocks of consecutive lines that the same variants lack, and inserts the blocks that only variants have.
func arrange(whole []string, differing [][]int, added [][]block) []block {
	var blocks []block
	for i, line := range whole {
		blocks = append(blocks, added[i]...)
		last := len(blocks) - 1
		if last >= 0 && !blocks[last].only && slices.Equal(blocks[last].differing, differing[i]) {
			blocks[last].lines = append(blocks[last].lines, line)
		} else {
			blocks = append(blocks, block{lines: []string{line}, differing: differing[i]})
		}
	}
	return append(blocks, added[len(whole)]...)
}

// spell returns the blocks with their conditions as text. Two blocks that exclude each other become an if and an else.
func spell(blocks []block) string {
	var text strings.Builder
	for i := 0; i < len(blocks); i++ {
		now := blocks[i]
		if len(now.differing) == 0 {
			writeLines(&text, now.lines...)
			continue
		}
		if i+1 < len(blocks) && now.only != blocks[i+1].only && slices.Equal(now.differing, blocks[i+1].differing) {
			other := blocks[i+1]
			if now.only {
				now, other = other, now
			}
			writeLines(&text, "{{- if "+condition(now)+" }}")
			writeLines(&text, now.lines...)
			writeLines(&text, "{{- else }}")
			writeLines(&text, other.lines...)
			i++
		} else {
			writeLines(&text, "{{- if "+condition(now)+" }}")
			writeLines(&text, now.lines...)
		}
		writeLines(&text, "{{- end }}")
	}
	return text.String()
}

func writeLines(text *strings.Builder, lines ...string) {
	for _, line := range lines {
		text.WriteString(line + "\n")
	}
}

// condition returns the condition under which a block is part of the manifest.
func condition(b block) string {
	operator := "and"
	if b.only {
		operator = "or"
	}
	var terms []string
	for _, v := range b.differing {
		if b.only {
			terms = append(terms, variants[v].when)
		} else {
			terms = append(terms, variants[v].unless)
		}
	}
	if len(terms) == 1 {
		return terms[0]
	}
	for i, term := range terms {
		if strings.Contains(term, " ") {
			terms[i] = "(" + term + ")"
		}
	}
	return operator + " " + strings.Join(terms, " ")
}
