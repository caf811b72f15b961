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
	members, err := doc.fields(doc.root(), "levels")
	if err != nil {
		return nil, err
	}
	if h.Extra, err = doc.unknown(members, hierarchyFields); err != nil {
		return nil, err
	}
	for _, m := range members {
		switch m.key {
		case "levels":
			h.Levels, err = readList(doc, m, readLevel)
		case "origin":
			err = doc.value(m.value, &h.Origin)
		case "uneven":
			err = doc.value(m.value, &h.Uneven)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := h.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return h, nil
}

func readLevel(doc *document, s span, l *Level) error {
	members, err := doc.fields(s, "name", "classes")
	if err != nil {
		return err
	}
	if l.Extra, err = doc.unknown(members, levelFields); err != nil {
		return err
	}
	for _, m := range members {
		switch m.key {
		case "name":
			err = doc.value(m.value, &l.Name)
		case "classes":
			l.Classes, err = readList(doc, m, readClass)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func readClass(doc *document, s span, c *Class) (err error) {
	c.Extra, err = doc.object(s, c, classFields, "name", "parent")
	return err
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
