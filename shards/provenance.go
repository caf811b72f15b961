package shards

import (
	"bytes"
	"encoding/json"
	"time"

	"hgld/labels"
)

// buildVersion is the format version of BUILD.json.
const buildVersion = 1

// buildRecord is BUILD.json: what a data set was made of, and how. It has no time
// and no machine of its own in it, so that the same inputs give the same bytes.
type buildRecord struct {
	Version  int      `json:"hgld_build"`
	Tool     string   `json:"tool"`     // hgld's version
	Settings Settings `json:"settings"` // that decided the bytes of the shards
	Inputs   []Input  `json:"inputs"`
	Provenance
}

// Provenance is what a caller of Build knows of the inputs beyond their hashes: the
// settings of the importer, and what the stages before recorded of the way to the
// labels. Every part is followed from the one before by a hash; what is not known
// is left out, and Unknown says why.
type Provenance struct {
	Source    any             `json:"source,omitempty"`    // settings of the importer, files without their folders
	Hierarchy *Input          `json:"hierarchy,omitempty"` // Options.Hierarchy, where it came from a file
	Labels    *LabelsOrigin   `json:"labels,omitempty"`    // stage 3: the label file
	Curation  json.RawMessage `json:"curation,omitempty"`  // stage 3: the origin of hierarchy.json, with the hash of each log of edits
	Clusters  *labels.Origin  `json:"clusters,omitempty"`  // stage 2: encoder, weights, prompt, k, seed
	Scrape    *ScrapeOrigin   `json:"scrape,omitempty"`    // stage 1
	Unknown   []string        `json:"unknown,omitempty"`   // where a trail ends
}

// LabelsOrigin says what a label file was made of.
type LabelsOrigin struct {
	Tool   string  `json:"tool"`            // hgld's version
	Limit  int     `json:"limit,omitempty"` // of a trial: landmarks
	Inputs []Input `json:"inputs"`          // tags.jsonl and hierarchy.json
}

// ScrapeOrigin says where the tags are from.
type ScrapeOrigin struct {
	Tags    Input          `json:"tags"`                   // tags.jsonl
	Records int            `json:"records"`                // landmarks
	Sources map[string]int `json:"sources"`                // landmarks by source: page, api or an import
	First   time.Time      `json:"first_fetched,omitzero"` // when the first page was fetched
	Last    time.Time      `json:"last_fetched,omitzero"`  // when the last page was fetched
}

// encodeJSON is the text of a JSON file: indented, with the characters < > & as
// they are.
func encodeJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(v)
	return out.Bytes(), err
}
