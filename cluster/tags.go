package cluster

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"hgld/labels"
)

// Tags lists the distinct tags of the records, by text byte for byte and by
// Wikidata item, with the number of landmarks that carry each: most landmarks
// first, then in the order of their bytes. Records without a tag do not count. A
// landmark of train and one of index with the same number are two.
func Tags(records []labels.Record) []labels.DraftTag {
	type identity struct{ name, qid string }
	type landmark struct {
		split labels.Split
		id    labels.LandmarkID
	}
	carriers := map[identity]map[landmark]bool{}
	for _, r := range records {
		if r.Outcome != labels.OK || r.Tag == "" {
			continue
		}
		key := identity{r.Tag, r.QID}
		if carriers[key] == nil {
			carriers[key] = map[landmark]bool{}
		}
		carriers[key][landmark{r.Split, r.Landmark}] = true
	}
	tags := make([]labels.DraftTag, 0, len(carriers))
	for key, of := range carriers {
		tags = append(tags, labels.DraftTag{Tag: labels.Tag{Name: key.name, QID: key.qid}, Landmarks: len(of)})
	}
	slices.SortFunc(tags, func(a, b labels.DraftTag) int {
		return cmp.Or(cmp.Compare(b.Landmarks, a.Landmarks), cmp.Compare(a.Name, b.Name), cmp.Compare(a.QID, b.QID))
	})
	return tags
}

// Names returns the texts of tags, as Embed takes them.
func Names(tags []labels.DraftTag) []string {
	names := make([]string, len(tags))
	for i, t := range tags {
		names[i] = t.Name
	}
	return names
}

// Fingerprint is the SHA-256 of the tags' texts and items in their order: vectors
// of tags with the same fingerprint belong to the same rows.
func Fingerprint(tags []labels.DraftTag) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, t := range tags {
		if err := enc.Encode([2]string{t.Name, t.QID}); err != nil {
			panic(err) // strings encode, and a hash takes all that is written
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
