package labels

import (
	"bytes"
	"fmt"
	"io"
	"math"
)

// DraftVersion is the format version of draft.json that this version of hgld writes; it
// reads every version up to it.
const DraftVersion = 1

// MarshalJSON writes Extra beside the fields.
func (d Draft) MarshalJSON() ([]byte, error) {
	type plain Draft
	return encodeObject((*plain)(&d), d.Extra)
}

// MarshalJSON writes Extra beside the fields.
func (o Origin) MarshalJSON() ([]byte, error) {
	type plain Origin
	return encodeObject((*plain)(&o), o.Extra)
}

// MarshalJSON writes Extra beside the fields.
func (t DraftTag) MarshalJSON() ([]byte, error) {
	type plain DraftTag
	return encodeObject((*plain)(&t), t.Extra)
}

// MarshalJSON writes Extra beside the fields.
func (c Cluster) MarshalJSON() ([]byte, error) {
	type plain Cluster
	return encodeObject((*plain)(&c), c.Extra)
}

// MarshalJSON writes Extra beside the fields.
func (m Member) MarshalJSON() ([]byte, error) {
	type plain Member
	return encodeObject((*plain)(&m), m.Extra)
}

// Check checks a draft: tags (by text and item) and cluster names and ids are unique,
// every tag is in exactly one cluster, no cluster is empty, and every index and
// distance is in range.
func (d *Draft) Check() error {
	type identity struct{ name, qid string }
	known := make(map[identity]int, len(d.Tags))
	for i, t := range d.Tags {
		key := identity{t.Name, t.QID}
		if t.Name == "" {
			return fmt.Errorf("tag %d has no name", i)
		}
		if first, twice := known[key]; twice {
			return fmt.Errorf("tag %.80q occurs twice, as tag %d and tag %d", t.Name, first, i)
		}
		known[key] = i
		if t.Landmarks < 0 || t.Images < 0 {
			return fmt.Errorf("tag %.80q: %d landmarks and %d images; want counts of 0 or more", t.Name, t.Landmarks, t.Images)
		}
	}
	return d.checkClusters()
}

func (d *Draft) checkClusters() error {
	ids, names := map[int]bool{}, map[string]int{}
	clusterOf := make([]int, len(d.Tags)) // 1 + position of the tag's cluster
	for i := range d.Clusters {
		c := &d.Clusters[i]
		if ids[c.ID] {
			return fmt.Errorf("cluster id %d occurs twice", c.ID)
		}
		ids[c.ID] = true
		if first, twice := names[c.Name]; twice {
			return fmt.Errorf("cluster name %.80q occurs twice, for cluster %d and cluster %d", c.Name, first, c.ID)
		}
		names[c.Name] = c.ID
		if len(c.Members) == 0 {
			return fmt.Errorf("cluster %d %.80q has no members", c.ID, c.Name)
		}
		for _, m := range c.Members {
			if m.Tag < 0 || m.Tag >= len(d.Tags) {
				return fmt.Errorf("cluster %d %.80q: there is no tag %d; want 0 to %d", c.ID, c.Name, m.Tag, len(d.Tags)-1)
			}
			if at := clusterOf[m.Tag]; at > 0 {
				return fmt.Errorf("tag %d %.80q is in two clusters, %d and %d", m.Tag, d.Tags[m.Tag].Name, d.Clusters[at-1].ID,
					c.ID)
			}
			clusterOf[m.Tag] = i + 1
			if !(m.Distance >= 0) || math.IsInf(m.Distance, 0) {
				return fmt.Errorf("cluster %d %.80q: tag %d has distance %v; want 0 or more", c.ID, c.Name, m.Tag, m.Distance)
			}
		}
	}
	for i, at := range clusterOf {
		if at == 0 {
			return fmt.Errorf("tag %d %.80q is in no cluster", i, d.Tags[i].Name)
		}
	}
	for i, c := range d.Clusters {
		for _, tag := range c.Alternatives {
			if tag < 0 || tag >= len(d.Tags) || clusterOf[tag] != i+1 {
				return fmt.Errorf("cluster %d %.80q: alternatives name tag %d, which is not a member", c.ID, c.Name, tag)
			}
		}
		if c.Landmarks < 0 || c.Images < 0 {
			return fmt.Errorf("cluster %d %.80q: %d landmarks and %d images; want counts of 0 or more", c.ID, c.Name,
				c.Landmarks, c.Images)
		}
		for _, id := range c.Nearest {
			if !ids[id] || id == c.ID {
				return fmt.Errorf("cluster %d %.80q: nearest names cluster %d; want the id of another cluster", c.ID, c.Name, id)
			}
		}
	}
	return nil
}

// ReadDraft reads draft.json and checks it with Draft.Check. Errors begin with name
// and, if possible, the line.
func ReadDraft(r io.Reader, name string) (*Draft, error) {
	doc, err := readDocument(r, name)
	if err != nil {
		return nil, err
	}
	draft := &Draft{}
	if draft.Version, err = doc.version("hgld_draft", DraftVersion); err != nil {
		return nil, err
	}
	if err := doc.decode(draft); err != nil {
		return nil, err
	}
	if err := draft.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return draft, nil
}

// WriteDraft writes draft.json with one tag or member per line, in the current format
// version. It fails if Check does.
func WriteDraft(w io.Writer, d *Draft) error {
	if err := d.Check(); err != nil {
		return fmt.Errorf("draft: %w", err)
	}
	current := *d
	current.Version = DraftVersion
	return writeDocument(w, "draft", current.MarshalJSON)
}

func writeDocument(w io.Writer, what string, encode func() ([]byte, error)) error {
	compact, err := encode()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	var b bytes.Buffer
	layout(&b, compact)
	_, err = w.Write(b.Bytes())
	return err
}
