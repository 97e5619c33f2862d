// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"encoding/pem"
)

var blockBegin = []byte("-----BEGIN ")

// parseBlocks returns the PEM blocks of a text. It returns an error if a block is malformed. Go's parser would skip that block, but
// memcached's OpenSSL does not: memcached would not start, or would refuse every client.
func parseBlocks(key string, text []byte) ([]*pem.Block, error) {
	invalid := invalidCertificate("a PEM block in " + key + " is invalid, contains a blank line, or does not begin on a line of its own: " +
		"replace it by a valid PEM file")
	var blocks []*pem.Block
	left := text
	for block, rest := pem.Decode(left); block != nil; block, rest = pem.Decode(left) {
		if len(block.Headers) == 0 && hasBlankLine(left[:len(left)-len(rest)]) {
			return nil, invalid
		}
		blocks, left = append(blocks, block), rest
	}
	if len(blocks) != bytes.Count(text, blockBegin) {
		return nil, invalid
	}
	return blocks, nil
}

// hasBlankLine reports whether a PEM block contains a blank line. OpenSSL would read the lines before the blank line as headers.
func hasBlankLine(text []byte) bool {
	_, block, _ := bytes.Cut(text, blockBegin)
	for line := range bytes.Lines(bytes.TrimSpace(block)) {
		if len(bytes.TrimSpace(line)) == 0 {
			return true
		}
	}
	return false
}
