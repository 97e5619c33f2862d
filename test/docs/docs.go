// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package docs reads the pages, which are the Markdown files of this repository. It runs the fenced blocks of a page in order against
// an API server. A block holds kubectl commands, or a manifest that is applied. An HTML comment before a block is its marker. The
// marker changes how the block runs:
//
// <!-- run by make test-e2e -->     the block needs running pods, so test/e2e runs all blocks of the page on a cluster
// <!-- run: NAME -->                a test of test/e2e runs the block by this name
// <!-- fails: some words -->        the block must fail, and print these words
// <!-- not run: the reason -->      nothing runs the block, but a Memcached in it must be valid
//
// If the paragraph before a block ends with "Not run by a test:", this has the same effect as the marker "not run".
package docs

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Page is a Markdown file.
type Page struct {
	// Path is relative to the root of the repository.
	Path string
	// Anchors are the anchors of the headings.
	Anchors []string
	// Links are the destinations of the links and pictures.
	Links []string
	// Within are the sections of the same page to which a section links, by its anchor.
	Within map[string][]string
	// Blocks are the fenced code blocks.
	Blocks []Block
}

// Block is a fenced code block.
type Block struct {
	// Line is the number of the first line within the fence.
	Line int
	// Section is the anchor of the heading before the block.
	Section string
	// Language is the word after the opening fence, such as sh.
	Language string
	Text     string
	// Marker is the text of the HTML comment before the block. The package comment explains it.
	Marker string
}

// Markers, or the prefixes of markers with a variable part.
const (
	OnCluster = "run by make test-e2e"
	NotRun    = "not run: "
	byName    = "run: "
	fails     = "fails: "
)

// Runs reports whether the tests of a page run the block. They do not run a block with a name, because a test of test/e2e runs it.
func (b Block) Runs() bool {
	return (b.Language == "sh" || b.Language == "yaml") && !strings.HasPrefix(b.Marker, NotRun) && b.Name() == ""
}

// Name returns the name by which a test of test/e2e runs the block, or "" if the block has no name.
func (b Block) Name() string {
	name, named := strings.CutPrefix(b.Marker, byName)
	if !named {
		return ""
	}
	return name
}

// Named returns the text of each block that has a name, by name.
func (p *Page) Named() map[string]string {
	texts := map[string]string{}
	for _, block := range p.Blocks {
		if name := block.Name(); name != "" {
			texts[name] = block.Text
		}
	}
	return texts
}

// Advises reports whether a section has a command, or links to another section of the page that has one.
func (p *Page) Advises(section string) bool {
	return p.hasCommand(section) || slices.ContainsFunc(p.Within[section], p.hasCommand)
}

func (p *Page) hasCommand(section string) bool {
	return slices.ContainsFunc(p.Blocks, func(b Block) bool { return b.Section == section && b.Language == "sh" })
}

// Pages returns the Markdown files below root, except those in .git and in folders for test data or build results.
func Pages(root string) ([]Page, error) {
	var pages []Page
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains([]string{".git", "bin", "dist", "testdata"}, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		pages = append(pages, Parse(filepath.ToSlash(name), content))
		return nil
	})
	return pages, err
}

// Parse parses Markdown as GitHub does. path becomes the path of the page.
func Parse(path string, content []byte) Page {
	page := Page{Path: path, Within: map[string][]string{}}
	tree := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(content))
	_ = ast.Walk(tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) { // the function never returns an error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.Heading:
			page.Anchors = append(page.Anchors, page.anchorOf(plainText(node, content)))
		case *ast.Link:
			page.Links = append(page.Links, string(node.Destination))
			if anchor, within := strings.CutPrefix(string(node.Destination), "#"); within {
				page.Within[page.section()] = append(page.Within[page.section()], anchor)
			}
		case *ast.Image:
			page.Links = append(page.Links, string(node.Destination))
		case *ast.FencedCodeBlock:
			block := blockOf(node, content)
			block.Section = page.section()
			page.Blocks = append(page.Blocks, block)
		}
		return ast.WalkContinue, nil
	})
	return page
}

// section returns the anchor of the last heading.
func (p *Page) section() string {
	if len(p.Anchors) == 0 {
		return ""
	}
	return p.Anchors[len(p.Anchors)-1]
}

// notInAnchors matches the characters that GitHub drops from a heading to make an anchor.
var notInAnchors = regexp.MustCompile(`[^\p{L}\p{N}\p{M}_ -]`)

// anchorOf returns the anchor that GitHub gives to a heading. If an earlier heading has this anchor (p.Anchors), GitHub adds a number.
func (p *Page) anchorOf(heading string) string {
	anchor := strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
	unique := anchor
	for n := 1; slices.Contains(p.Anchors, unique); n++ {
		unique = anchor + "-" + strconv.Itoa(n)
	}
	return unique
}

// plainText returns the text of a node without its markup.
func plainText(node ast.Node, content []byte) string {
	var all strings.Builder
	_ = ast.Walk(node, func(node ast.Node, entering bool) (ast.WalkStatus, error) { // the function never returns an error
		if leaf, is := node.(*ast.Text); is && entering {
			all.Write(leaf.Segment.Value(content))
			if leaf.SoftLineBreak() {
				all.WriteString(" ")
			}
		}
		return ast.WalkContinue, nil
	})
	return all.String()
}

var comment = regexp.MustCompile(`^\s*<!--\s*(.*?)\s*-->\s*$`)

func blockOf(node *ast.FencedCodeBlock, content []byte) Block {
	block := Block{
		Language: string(node.Language(content)),
		Text:     string(node.Lines().Value(content)),
	}
	if node.Lines().Len() > 0 {
		block.Line = bytes.Count(content[:node.Lines().At(0).Start], []byte("\n")) + 1
	}
	switch before := node.PreviousSibling().(type) {
	case *ast.HTMLBlock:
		if match := comment.FindSubmatch(before.Lines().Value(content)); match != nil {
			block.Marker = string(match[1])
		}
	case *ast.Paragraph:
		if words := strings.Fields(plainText(before, content)); strings.HasSuffix(strings.Join(words, " "), "Not run by a test:") {
			block.Marker = NotRun + "the text says so"
		}
	}
	return block
}
