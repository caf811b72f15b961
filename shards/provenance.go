package shards

import (
	"bytes"
	"encoding/json"

	"hgld/labels"
)

// buildVersion is the format version of BUILD.json.
const buildVersion = 1

// buildRecord is BUILD.json: what a data set was made of, and how. It contains no time
// and no machine of the build, so that the same inputs give the same bytes.
type buildRecord struct {
	Version  int      `json:"hgld_build"`
	Tool     string   `json:"tool"`     // hgld's version
	Settings Settings `json:"settings"` // that decided the bytes of the shards
	Inputs   []Input  `json:"inputs"`
	HEIF     string   `json:"heif,omitempty"` // what converted HEIC and AVIF images, if there are any
	Provenance
}

// Provenance is what the caller of Build knows about the inputs beyond their hashes:
// the settings of the importer, and what earlier stages recorded about the labels. Each
// part is linked to the one before it by a hash. What is unknown is left out, and
// Unknown says why.
type Provenance struct {
	Source    any             `json:"source,omitempty"`    // settings of the importer, files without their folders
	Hierarchy *Input          `json:"hierarchy,omitempty"` // Options.Hierarchy, where it came from a file
	Labels    *LabelsOrigin   `json:"labels,omitempty"`    // stage 3: the label file
	Curation  json.RawMessage `json:"curation,omitempty"`  // stage 3: the origin of hierarchy.json, with the hash of each log of edits
	Clusters  *labels.Origin  `json:"clusters,omitempty"`  // stage 2: encoder, weights, prompt, k, seed
	Scrape    *ScrapeOrigin   `json:"scrape,omitempty"`    // stage 1
	Unknown   []string        `json:"unknown,omitempty"`   // where a trail ends
}

// LabelsOrigin lists the files that a label file was made of.
type LabelsOrigin struct {
	Tool   string  `json:"tool"`            // hgld's version
	Limit  int     `json:"limit,omitempty"` // of a trial: landmarks
	Inputs []Input `json:"inputs"`          // tags.jsonl and hierarchy.json
}

// ScrapeOrigin says where the tags are from.
type ScrapeOrigin struct {
	Tags    Input          `json:"tags"`    // tags.jsonl
	Records int            `json:"records"` // landmarks
	Sources map[string]int `json:"sources"` // landmarks by source: page, api or an import
}

// encodeJSON returns v as indented JSON, without escapes for the characters < > &.
func encodeJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(v)
	return out.Bytes(), err
}
