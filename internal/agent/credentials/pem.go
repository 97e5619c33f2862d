// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"encoding/pem"
)

// blockBegin is what each PEM block begins with.
var blockBegin = []byte("-----BEGIN ")

// parseBlocks returns the PEM blocks of a text. It refuses what Go's parser skips: OpenSSL fails there, and memcached would refuse every
// client.
func parseBlocks(key string, text []byte) ([]*pem.Block, error) {
	damaged := invalidCertificate("a PEM block in " + key + " is damaged, has a blank line in it, or does not begin on a line of its own: " +
		"store it anew")
	var blocks []*pem.Block
	left := text
	for block, rest := pem.Decode(left); block != nil; block, rest = pem.Decode(left) {
		if len(block.Headers) == 0 && hasBlankLine(left[:len(left)-len(rest)]) {
			return nil, damaged
		}
		blocks, left = append(blocks, block), rest
	}
	if len(blocks) != bytes.Count(text, blockBegin) {
		return nil, damaged
	}
	return blocks, nil
}

// hasBlankLine reports whether the only block of a text has a blank line: OpenSSL takes what is before it for headers.
func hasBlankLine(text []byte) bool {
	_, block, _ := bytes.Cut(text, blockBegin)
	for line := range bytes.Lines(bytes.TrimSpace(block)) {
		if len(bytes.TrimSpace(line)) == 0 {
			return true
		}
	}
	return false
}
