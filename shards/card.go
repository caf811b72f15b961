package shards

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/objectstore/address"
	"hgld/internal/registry"
	"hgld/labels"
)

// The files that WriteCard writes beside a data set, with LabelsFile. The manifest does not list
// them, and they can be rewritten at any time.
const (
	CardFile      = "README.md"
	CroissantFile = "croissant.json"
)

// hubLicences are the names of licences on the Hugging Face Hub, which refuses a card with another one
// (https://huggingface.co/docs/hub/repositories-licenses).
var hubLicences = strings.Fields(`apache-2.0 mit openrail bigscience-openrail-m creativeml-openrail-m
	bigscience-bloom-rail-1.0 bigcode-openrail-m afl-3.0 artistic-2.0 bsl-1.0 bsd bsd-2-clause bsd-3-clause
	bsd-3-clause-clear c-uda cc cc0-1.0 cc-by-2.0 cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-2.0
	cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nd-4.0 cc-by-nc-nd-3.0 cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0
	cc-by-nc-sa-4.0 cdla-sharing-1.0 cdla-permissive-1.0 cdla-permissive-2.0 wtfpl ecl-2.0 epl-1.0 epl-2.0 etalab-2.0
	eupl-1.1 eupl-1.2 agpl-3.0 gfdl gpl gpl-2.0 gpl-3.0 lgpl lgpl-2.1 lgpl-3.0 isc h-research intel-research lppl-1.3c
	ms-pl apple-ascl apple-amlr mpl-2.0 odc-by odbl openmdw-1.0 openrail++ osl-3.0 postgresql ofl-1.1 ncsa unlicense zlib
	pddl lgpl-lr deepfloyd-if-license fair-noncommercial-research-license llama2 llama3 llama3.1 llama3.2 llama3.3 llama4
	gemma unknown other`)

// Card is the information for the card that the data set itself does not contain.
type Card struct {
	Title       string // "": the folder's name
	Description string // a sentence or more; may be empty
	License     string // of the whole, such as cc-by-4.0; "": other
	URL         string // where it is published; may be empty
	Citation    string // how it is to be cited; may be empty
}

// hubLicence returns the Hub's name of a licence that is spelled as SPDX or its authors do, such as CC0, "Apache
// License 2.0" and GPL-3.0-only; "" if there is none. Of several versions it is the last.
func hubLicence(name string) string {
	plain := strings.NewReplacer("license", "", "licence", "", "creative commons", "cc", "attribution", "by",
		"noncommercial", "nc", "sharealike", "sa", "international", "", "_", " ", "-", " ").Replace(strings.ToLower(name))
	plain = strings.Join(strings.Fields(plain), "-")
	for _, end := range []string{"-only", "-or-later"} {
		plain = strings.TrimSuffix(plain, end)
	}
	meant := ""
	for _, known := range hubLicences {
		if known == plain {
			return known
		}
		if version, is := strings.CutPrefix(known, plain+"-"); is && strings.Trim(version, "0123456789.") == "" {
			meant = max(meant, known)
		}
	}
	return meant
}

// WriteCard writes two descriptions of the finished data set in dir, and its table of
// classes. README.md is the card that the Hugging Face Hub shows; its head lists the
// files of each split, without which the Hub does not know a split called index, and the
// table as a configuration of its own. croissant.json is the same for machines, in
// Croissant 1.1 (MLCommons). The table is LabelsFile. The same data set and card give
// the same bytes. WriteCard counts the licences from the rows and verifies the hashes of the
// shards as it reads them.
func WriteCard(ctx context.Context, dir string, c Card) (err error) {
	defer nameFolder(&err, dir+": card")
	if c.License != "" && !slices.Contains(hubLicences, c.License) {
		if meant := hubLicence(c.License); meant != "" {
			return fmt.Errorf("license: unknown licence of the Hub %.80q: did you mean %.80q?", c.License, meant)
		}
		return fmt.Errorf("license: %w", registry.Unknown("licence of the Hub", c.License, hubLicences))
	}
	set, err := open(ctx, dir)
	if err != nil {
		return err
	}
	defer set.Close()
	if c.Title == "" {
		if c.Title = address.Base(dir); !address.Is(dir) {
			abs, err := filepath.Abs(dir)
			if err != nil {
				return err
			}
			c.Title = filepath.Base(abs)
		}
	}
	licences, landmarks, err := describeRows(ctx, set)
	if err != nil {
		return err
	}
	table, rows, err := set.labelsTable(landmarks)
	if err != nil {
		return err
	}
	croissant, err := c.croissant(set.Manifest(), Companion{LabelsFile, rows, int64(len(table)), sha256.Sum256(table)})
	if err != nil {
		return err
	}
	if err := set.dir.write(LabelsFile, table); err != nil {
		return err
	}
	if err := set.dir.write(CroissantFile, croissant); err != nil {
		return err
	}
	return set.dir.write(CardFile, c.readme(set.Manifest(), licences))
}

// describeRows counts the licences of all rows, the most frequent first, and takes what is known of
// each landmark from the first of its images.
func describeRows(ctx context.Context, set *Set) ([]Counted, map[int32]Attributes, error) {
	images, landmarks := map[string]int{}, map[int32]Attributes{}
	for _, split := range set.Manifest().Splits() {
		v, err := set.Split(split)
		if err != nil {
			return nil, nil, err
		}
		for row, err := range v.Rows(ctx, false) {
			if err != nil {
				return nil, nil, err
			}
			a := row.Attributes
			images[a.License]++
			if _, known := landmarks[row.Labels[0]]; !known && set.manifest.Landmarks {
				landmarks[row.Labels[0]] = Attributes{CategoryURL: a.CategoryURL, WikidataQID: a.WikidataQID, Tag: a.Tag,
					LabelSource: a.LabelSource}
			}
		}
	}
	return counted(images), landmarks, nil
}

// sizeCategory returns the Hub's name for a number of rows.
func sizeCategory(n int) string {
	low, names := 1000, []string{"n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M"}
	for i, name := range names {
		if n < low || i == len(names)-1 {
			return name
		}
		low *= 10
	}
	return ""
}

// readme writes the card: YAML for the Hub, then text.
func (c Card) readme(m *Manifest, licences []Counted) []byte {
	var b bytes.Buffer
	quoted := func(s string) string { text, _ := json.Marshal(s); return string(text) } // JSON is YAML
	fmt.Fprintf(&b, "---\npretty_name: %s\nlicense: %s\nsize_categories:\n- %s\n"+
		"task_categories:\n- image-feature-extraction\ntags:\n- image-retrieval\n- hierarchical-labels\n"+
		"configs:\n- config_name: default\n  data_files:\n",
		quoted(c.Title), quoted(cmp.Or(c.License, "other")), sizeCategory(m.Summary().Rows))
	for _, split := range m.Splits() {
		fmt.Fprintf(&b, "  - split: %s\n    path: data/%s-*.parquet\n", split, split)
	}
	fmt.Fprintf(&b, "- config_name: labels\n  data_files: %s\n---\n\n# %s\n\n", LabelsFile, oneLine(c.Title))
	if c.Description != "" {
		fmt.Fprintf(&b, "%s\n\n", c.Description)
	}
	b.WriteString("| split | images | shards |\n|---|---:|---:|\n")
	for _, split := range m.Splits() {
		files, _ := m.Size(split)
		fmt.Fprintf(&b, "| %s | %d | %d |\n", split, m.Rows(split), files)
	}
	b.WriteString("\n## Classes\n\nThe levels form a tree, stored in `hierarchy.json`. Columns contain class numbers, " +
		"finest level first.\n\n| level | column |")
	for _, split := range m.Splits() {
		fmt.Fprintf(&b, " classes in %s |", split)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---:|", len(m.Splits())) + "\n")
	for _, l := range m.Levels {
		fmt.Fprintf(&b, "| %s | `%s` |", oneLine(l.Name), l.Column)
		for _, split := range m.Splits() {
			fmt.Fprintf(&b, " %d |", l.used(split))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\n`%s` is the table of classes, a row for each that has none below it, with the names, and without "+
		"the images.\n", LabelsFile)
	b.WriteString("\n## Licences\n\n| licence of the image | images |\n|---|---:|\n")
	for _, l := range licences {
		fmt.Fprintf(&b, "| %s | %d |\n", oneLine(cmp.Or(l.Value, "not stated in the rows")), l.Images)
	}
	b.WriteString("\nEach row contains the author, licence, title and address of its image; `modified` says what was " +
		"changed.\n")
	if m.companion(AttributionFile) != nil {
		fmt.Fprintf(&b, "`%s` lists them in one file, without the images.\n", AttributionFile)
	}
	b.WriteString("\n## Use\n\n" +
		"    from datasets import load_dataset\n" +
		"    rows = load_dataset(\".\")               # this folder, or its name on the Hub\n" +
		"    classes = load_dataset(\".\", \"labels\")\n\n" +
		"    hgld shards check .                   compares every byte with its hash\n")
	if c.Citation != "" {
		fmt.Fprintf(&b, "\n## Citation\n\n%s\n", c.Citation)
	}
	b.WriteString("\n## How it was made\n\n")
	fmt.Fprintf(&b, "By %s, from:\n\n| input | bytes | sha256 |\n|---|---:|---|\n", oneLine(m.Tool))
	for _, in := range m.Inputs {
		fmt.Fprintf(&b, "| %s | %d | `%s` |\n", oneLine(in.Name), in.Bytes, in.SHA256)
	}
	if m.companion(BuildFile) != nil {
		fmt.Fprintf(&b, "\n`%s` records the settings; `%s` counts images and classes.\n", BuildFile, StatsFile)
	}
	if m.Failures.Rows > 0 {
		fmt.Fprintf(&b, "\n%d images are left out; `%s` says why.\n", m.Failures.Rows, FailuresFile)
	}
	return b.Bytes()
}

// used returns the number of classes that have an image in a split.
func (l *Level) used(split labels.Split) int {
	n := 0
	for _, images := range l.Rows[split] {
		if images > 0 {
			n++
		}
	}
	return n
}

// oneLine makes text fit into a cell of a table.
func oneLine(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;").Replace(s)
}
