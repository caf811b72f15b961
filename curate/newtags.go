package curate

import (
	"path/filepath"

	"hgld/labels"
)

// NewTags lists the places of the tags that the curators have not seen, because the logs were made for
// an earlier draft: that draft does not have them, and no edit names them. Where the earlier draft is
// not found beside the draft or the log, tags that it had and nobody decided count as new, and
// known is false. There are none if a log was made for this draft.
func (c *Curation) NewTags() (tags []int, known bool) {
	state := newState(c.Draft, len(DefaultLevels))
	f := finder{state, state.table()}
	seen := make([]bool, len(c.Draft.Tags))
	see := func(r Ref) {
		if i, ok := f.find(0, r); ok {
			seen[i] = true
		}
	}
	known = true
	for _, l := range c.Logs {
		if c.Own(l) {
			return nil, true
		}
		for i := range l.Contents.Edits {
			e := &l.Contents.Edits[i]
			for _, r := range e.tagRefs() {
				see(r)
			}
		}
		earlier := c.earlierDraft(l)
		if earlier == nil {
			known = false
			continue
		}
		for _, t := range earlier.Tags {
			see(Ref{t.Name, t.QID})
		}
	}
	for i := range seen {
		if !seen[i] {
			tags = append(tags, i)
		}
	}
	return tags, known
}

// tagRefs lists the tags that an edit names.
func (e *Edit) tagRefs() []Ref {
	if e.Level == 0 || e.Op == Split && e.Level == 1 {
		refs := Refs(e.Parts)
		if e.Level == 0 {
			refs = append(refs, e.From...)
		}
		return refs
	}
	return nil
}

// earlierDraft reads the draft that a log was made for, if it is in the folder of the draft or of the
// log; nil if it is not.
func (c *Curation) earlierDraft(l *LogFile) *labels.Draft {
	h := l.Contents.Header
	if h.Draft == "" {
		return nil
	}
	for _, folder := range []string{filepath.Dir(c.path), filepath.Dir(l.Path)} {
		earlier, err := OpenCuration(filepath.Join(folder, filepath.Base(h.Draft)))
		if err == nil && earlier.SHA256 == h.DraftSHA256 {
			return earlier.Draft
		}
	}
	return nil
}
