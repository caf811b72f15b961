package labels

import (
	"encoding/json"
	"fmt"
	"io"
)

// HierarchyVersion is the format version of hierarchy.json that this version of hgld
// writes; it reads every version up to it.
const HierarchyVersion = 1

// MarshalJSON writes Extra beside the fields.
func (h Hierarchy) MarshalJSON() ([]byte, error) {
	type plain Hierarchy
	return encodeObject((*plain)(&h), h.Extra)
}

// MarshalJSON writes Extra beside the fields.
func (l Level) MarshalJSON() ([]byte, error) {
	type plain Level
	return encodeObject((*plain)(&l), l.Extra)
}

// MarshalJSON writes Extra beside the fields.
func (c Class) MarshalJSON() ([]byte, error) {
	type plain Class
	return encodeObject((*plain)(&c), c.Extra)
}

// MarshalJSON writes Extra beside the fields.
func (r Rule) MarshalJSON() ([]byte, error) {
	type plain Rule
	return encodeObject((*plain)(&r), r.Extra)
}

// ReadHierarchy reads hierarchy.json and checks it with Hierarchy.Check. Errors begin
// with name and, if possible, the line.
func ReadHierarchy(r io.Reader, name string) (*Hierarchy, error) {
	doc, err := readDocument(r, name)
	if err != nil {
		return nil, err
	}
	h := &Hierarchy{}
	if h.Version, err = doc.version("hgld_hierarchy", HierarchyVersion); err != nil {
		return nil, err
	}
	if err := doc.decode(h); err != nil {
		return nil, err
	}
	if err := h.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return h, nil
}

// WriteHierarchy writes hierarchy.json with one class per line, in the current format
// version. It fails if Check does.
func WriteHierarchy(w io.Writer, h *Hierarchy) error {
	if err := h.Check(); err != nil {
		return fmt.Errorf("hierarchy: %w", err)
	}
	current := *h
	current.Version = HierarchyVersion
	if len(current.Origin) > 0 && !json.Valid(current.Origin) {
		return fmt.Errorf("hierarchy: origin is not JSON: %.80s", current.Origin)
	}
	return writeDocument(w, "hierarchy", current.MarshalJSON)
}
